import fs from 'node:fs';
import path from 'node:path';
import { SetupError, TftrtError } from '../errors';
import { ADDON_FILES, ensureAddon, isWholeAddonFile } from './addon';
import { addTensorRtNames, ensureGpuLibraries } from './install_gpu_libraries';
import { examinePack, wantsGpuLibraries } from './lay_out';
import { loadLibraryLoader } from './load_addon';
import { addonFile, packageRoot } from './paths';
import { complaintAboutPlatform, refuse } from './platform';
import { ensureTensorFlow } from './tensorflow';

export interface InstallOptions {
  /** Bring CUDA and TensorRT to a machine without a GPU too. */
  readonly gpu?: boolean;
  /** A folder with libraries that are to be used instead of being fetched. */
  readonly from?: string;
  /** Build the addon where its sources changed, not only where it is missing or does not fit. */
  readonly build?: boolean;
}

/**
 * Brings everything that the compiled package needs to run: TensorFlow's libraries, the addon and, on a machine with a GPU
 * or where it is asked for, the libraries of CUDA and TensorRT.
 */
export async function install({ gpu, from, build }: InstallOptions): Promise<void> {
  refuse(complaintAboutPlatform());
  const wantsGpu = gpu || (from === undefined && wantsGpuLibraries());
  const pack = from === undefined ? undefined : examinePack(from, gpu || wantsGpuLibraries());
  const complaint = build ? undefined : complaintAboutAddon();
  if (complaint !== undefined) checkThatItCanBuild(complaint);
  const builds = build || complaint !== undefined;
  pack?.linkTensorFlow();
  const tensorflow = await ensureTensorFlow(builds ? 'build' : 'run');
  if (builds) await ensureAddon(tensorflow);
  // Fetching TensorFlow puts a new folder where these are.
  pack?.linkGpuLibraries();
  if (wantsGpu) await ensureGpuLibraries(tensorflow);
  addTensorRtNames();
}

/** The codes of what Node.js forbids this process, see permission.ts. */
const FORBIDDEN: readonly string[] = ['TFTRT_ADDONS_DISABLED', 'TFTRT_PERMISSION'];

/** Why the addon that the package came with cannot be used, or undefined. */
function complaintAboutAddon(): string | undefined {
  const folder = path.dirname(addonFile('tftrt'));
  const missing = ADDON_FILES.filter((file) => !fs.existsSync(path.join(folder, file)));
  if (missing.length > 0) {
    return `The addon is not whole: ${folder} lacks ${missing.join(', ')}. The package on npm has it compiled: install that anew.`;
  }
  const damaged = ADDON_FILES.filter((file) => !isWholeAddonFile(path.join(folder, file)));
  if (damaged.length > 0) {
    return `The addon is damaged: ${damaged.join(', ')} in ${folder}. The package on npm has it compiled: install that anew.`;
  }
  try {
    loadLibraryLoader();
    return undefined;
  } catch (error) {
    // A rebuilt one would not be loaded either.
    if (error instanceof SetupError && FORBIDDEN.includes(error.code)) throw error;
    if (error instanceof SetupError) return error.problem;
    throw error;
  }
}

/** Before anything is fetched: a package without its addon, whose tools for building are not there, is of no use. */
function checkThatItCanBuild(complaint: string): void {
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
    `${complaint}\nTo compile it here takes g++, CMake 3.18 or later, make, and ${missing.join(' and ')} of npm: ` +
      `run \`npm install --no-save ${missing.join(' ')}\` in your project's folder, then the same command again.`,
  );
}
