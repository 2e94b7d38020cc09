import { parseArgs } from 'node:util';
import { TftrtError } from '../errors';
import { ensureAddon } from './addon';
import { hasNvidiaGpu } from './gpu_libraries';
import { addTensorRtNames, ensureGpuLibraries } from './install_gpu_libraries';
import { layOut } from './lay_out';
import { ensureTensorFlow } from './tensorflow';

/**
 * Brings everything that the compiled package needs to run: TensorFlow's libraries, the addon and, on a machine with a GPU
 * or with `--gpu`, the libraries of CUDA and TensorRT; with `--from FOLDER` those in a folder. Ends the process when it cannot.
 */
export async function setUp(args: readonly string[] = []): Promise<void> {
  try {
    const { gpu, from } = parse(args);
    const tensorflow = await ensureTensorFlow();
    await ensureAddon(tensorflow);
    if (from !== undefined) layOut(from);
    else if (gpu || (hasNvidiaGpu() && process.env.TFTRT_DEVICE !== 'cpu')) {
      await ensureGpuLibraries(tensorflow);
      addTensorRtNames();
    }
  } catch (error) {
    if (!(error instanceof TftrtError)) throw error;
    console.error(`\ntftrt: set-up failed (${error.code}).\n${error.message}`);
    process.exit(1);
  }
}

function parse(args: readonly string[]): { gpu?: boolean; from?: string } {
  try {
    return parseArgs({
      args: [...args],
      options: { gpu: { type: 'boolean' }, from: { type: 'string' } },
    }).values;
  } catch (error) {
    throw new TftrtError(
      'TFTRT_INVALID_ARGUMENT',
      `${(error as Error).message}\nusage: npm run setup [-- --gpu | --from FOLDER]`,
    );
  }
}
