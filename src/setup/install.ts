import fs from 'node:fs';
import { ensureAddon } from './addon';
import { hasNvidiaGpu } from './gpu_libraries';
import { addTensorRtNames, ensureGpuLibraries } from './install_gpu_libraries';
import { layOut } from './lay_out';
import { addonFile } from './paths';
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
  const builds = build || !fs.existsSync(addonFile('tftrt'));
  const tensorflow = await ensureTensorFlow(builds ? 'build' : 'run');
  if (builds) await ensureAddon(tensorflow);
  const wantsGpu = from === undefined && hasNvidiaGpu() && process.env.TFTRT_DEVICE !== 'cpu';
  if (gpu || wantsGpu) await ensureGpuLibraries(tensorflow);
  addTensorRtNames();
}
