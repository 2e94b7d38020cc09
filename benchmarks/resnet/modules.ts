/** `modules.js <tftrt|peer>`: opens a side and prints the files of all modules that it has loaded, as JSON. */
import { openSide } from '../sides';
import type { SideName } from '../types';

async function main(): Promise<void> {
  const side = process.argv[2] as SideName;
  const { tf } = await openSide(side);
  tf.tidy(() => tf.add(tf.tensor1d([1, 2]), 1).dataSync());
  process.stdout.write(`${JSON.stringify(Object.keys(require.cache))}\n`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
