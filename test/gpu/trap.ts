// A process for one trap: node trap.js FILE NAME [ARGUMENT]. Calls the function NAME that FILE exports with the argument, which
// is JSON, sends the result, and must then end by itself. A file that exports `startsItself` makes the backend as it wants it.

import * as tf from '@tensorflow/tfjs';
import 'tfjs-backend-tftrt';

async function main(): Promise<void> {
  const [file, name, argument] = process.argv.slice(2);
  const { startsItself, ...traps } = require(file!);
  if (!startsItself) await tf.setBackend('tftrt');
  const result = await traps[name!](argument === undefined ? undefined : JSON.parse(argument));
  await new Promise((resolve) => process.send!({ result }, resolve));
  process.disconnect();
}

main().catch((error) => {
  console.error(error);
  process.exit(1); // not exitCode: the channel to the parent would keep the process alive
});
