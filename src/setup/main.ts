import { TftrtError } from '../errors';
import { ensureAddon } from './addon';
import { ensureTensorFlow } from './tensorflow';

/** Brings everything that the compiled package needs to run: TensorFlow's libraries and the addon. Ends the process when it cannot. */
export async function setUp(): Promise<void> {
  try {
    await ensureAddon(await ensureTensorFlow());
  } catch (error) {
    if (!(error instanceof TftrtError)) throw error;
    console.error(`\ntftrt: set-up failed (${error.code}).\n${error.message}`);
    process.exit(1);
  }
}
