// A process for one trap: node trap.js FILE NAME. Sends the result of the function NAME that FILE exports, and must then end by itself.

import * as tf from '@tensorflow/tfjs';
import 'tfjs-backend-tftrt';

async function main(): Promise<void> {
  const [file, name] = process.argv.slice(2);
  // First: it may configure the backend.
  const traps = require(file!) as Record<string, () => Promise<unknown>>;
  await tf.setBackend('tftrt');
  const result = await traps[name!]!();
  await new Promise((resolve) => process.send!({ result }, resolve));
  process.disconnect();
}

main().catch((error) => {
  console.error(error);
  process.exit(1); // not exitCode: the channel to the parent would keep the process alive
});
