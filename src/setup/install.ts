import { TftrtError } from '../errors';
import { ensureAddon } from './addon';
import { hasNvidiaGpu } from './gpu_libraries';
import { addTensorRtNames, ensureGpuLibraries } from './install_gpu_libraries';
import { layOut } from './lay_out';
import { addonFile, packageRoot } from './paths';
import { damageOf } from './shared_library';
import { ensureTensorFlow } from './tensorflow';

export interface InstallOptions {
  /** Bring CUDA and TensorRT to a machine without a GPU too. */
  readonly gpu?: boolean;
  /** A folder with libraries that are to be used instead of being fetched. */
  readonly from?: string;
  /** Build the addon where its sources changed, not only where it is missing. */
  readonly build?: boolean;
}

/**
 * Brings everything that the compiled package needs to run: TensorFlow's libraries, the addon and, on a machine with a GPU
 * or where it is asked for, the libraries of CUDA and TensorRT.
 */
export async function install({ gpu, from, build }: InstallOptions): Promise<void> {
  if (from !== undefined) layOut(from);
  const builds = build || damageOf(addonFile('tftrt')) !== null;
  if (builds) checkThatItCanBuild();
  const tensorflow = await ensureTensorFlow(builds ? 'build' : 'run');
  if (builds) await ensureAddon(tensorflow);
  const wantsGpu = from === undefined && hasNvidiaGpu() && process.env.TFTRT_DEVICE !== 'cpu';
  if (gpu || wantsGpu) await ensureGpuLibraries(tensorflow);
  addTensorRtNames();
}

/** Before anything is fetched: a package without its addon, whose tools for building are not there, is of no use. */
function checkThatItCanBuild(): void {
  const tools = ['cmake-js', 'node-addon-api'];
  const missing = tools.filter((tool) => {
    try {
      require.resolve(`${tool}/package.json`, { paths: [packageRoot] });
      return false;
    } catch {
      return true;
    }
  });
  if (missing.length === 0) return;
  throw new TftrtError(
    'TFTRT_SETUP_BUILD',
    `The addon ${addonFile('tftrt')} is not there, or damaged, and cannot be built without ${missing.join(' and ')}. ` +
      `Run \`npm install --no-save ${missing.join(' ')}\` in ${packageRoot}, then the same command again.`,
  );
}
