import path from 'node:path';
import { SetupError } from '../errors';
import {
  CUDA_LIBRARIES,
  describeMissing,
  findLibraries,
  HOW_TO_USE_THE_CPU,
  howToGetGpuLibraries,
  TENSORRT_LIBRARIES,
  TENSORRT_NAMES,
} from './gpu_libraries';
import type { LibraryLoader } from './load_tensorflow';
import { sayingPermission } from './permission';

/** What the driver must be able to do, as CUDA counts, and the first driver that is. */
const CUDA_OF_DRIVER = 12000;
const DRIVER =
  "525 or later; 545 or later for Hopper and newer GPUs, which compile some of TensorFlow's kernels";

/** Set-up does not open libraries: it takes a wrong file that has the right name for a right one. */
const HOW_TO_REPLACE =
  'Remove that file from where it is, or from what LD_LIBRARY_PATH names; then `npx tftrt install --gpu` brings the right one.';

/**
 * Opens NVIDIA's driver and the CUDA libraries, before TensorFlow looks for them: they may be where the dynamic linker
 * does not look, but what is in the process is found by its name. TensorFlow itself would say nothing about a missing one
 * and compute on the CPU. Throws one error that lists all that is missing.
 */
export function loadCuda(loader: LibraryLoader): void {
  const { found, missing } = sayingPermission(() => findLibraries(CUDA_LIBRARIES));
  const driver = complaintAboutDriver(loader);
  if (driver !== null || missing.length > 0) {
    throw new SetupError(
      driver !== null ? 'TFTRT_GPU_UNAVAILABLE' : 'TFTRT_CUDA_MISSING',
      [
        'The GPU cannot be used.',
        ...(driver === null ? [] : [driver.problem]),
        ...(missing.length === 0
          ? []
          : [
              `Libraries of CUDA 12.3 and cuDNN 8.9 are missing or unusable:\n${describeMissing(missing).trimEnd()}`,
            ]),
      ].join('\n'),
      [
        ...(driver === null ? [] : [driver.remedy]),
        ...(missing.length === 0 ? [] : [howToGetGpuLibraries()]),
        HOW_TO_USE_THE_CPU,
      ].join('\n'),
    );
  }
  for (const file of found.values()) openGpuLibrary(loader, file, 'TFTRT_CUDA_LOAD');
  const cudnn = loader.call('libcudnn.so.8', 'cudnnGetVersion');
  // TensorFlow was compiled with 8.9 and refuses an older one at the first convolution.
  if (cudnn === null || cudnn < 8900 || cudnn >= 9000) {
    throw new SetupError(
      'TFTRT_CUDA_VERSION',
      `${fileOf(found, 'libcudnn.so.8')} is cuDNN ${cudnn ?? 'of an unknown version'}, but 8.9 is needed (8900 to 8999).`,
      `${HOW_TO_REPLACE}\n${HOW_TO_USE_THE_CPU}`,
    );
  }
}

/**
 * Opens TensorRT, or throws one error that lists all that is missing. Costs little when it is open already. To be called
 * after `loadCuda`, before TensorFlow is asked for anything of TensorRT: it asks once and remembers.
 */
export function loadTensorRt(loader: LibraryLoader): void {
  const { found, missing } = sayingPermission(() => findLibraries(TENSORRT_LIBRARIES));
  if (missing.length > 0) {
    throw new SetupError(
      'TFTRT_TENSORRT_MISSING',
      `TensorRT 8.6.1 cannot be used; files are missing or unusable:\n${describeMissing(missing).trimEnd()}`,
      howToGetGpuLibraries(),
    );
  }
  const [builderResource] = [...found.values()].slice(-1);
  for (const file of found.values()) {
    if (file !== builderResource) openGpuLibrary(loader, file, 'TFTRT_TENSORRT_LOAD');
  }
  const version = loader.call('libnvinfer.so.8', 'getInferLibVersion');
  if (version !== 8601) {
    throw new SetupError(
      'TFTRT_TENSORRT_VERSION',
      `${fileOf(found, 'libnvinfer.so.8')} is TensorRT ${version ?? 'of an unknown version'}, but 8.6.1 (8601) is needed.`,
      HOW_TO_REPLACE,
    );
  }
  const complaint = openUnderAllNames(loader, path.dirname(builderResource!));
  if (complaint !== null) {
    throw new SetupError(
      'TFTRT_TENSORRT_LOAD',
      `TensorRT is in ${path.dirname(builderResource!)}, but would not find its own files there by name: ${complaint}`,
      `Run \`npx tftrt install --from ${path.dirname(builderResource!)}\`, which links them so that it does.`,
    );
  }
}

/** Makes the names known that TensorFlow and TensorRT ask for. Returns the dynamic linker's complaint, or null. */
function openUnderAllNames(loader: LibraryLoader, folder: string): string | null {
  if (loader.open(path.join(folder, TENSORRT_NAMES)) === null) return null;
  const names = TENSORRT_LIBRARIES.map(({ file, alias }) => alias ?? file);
  return names.map((name) => loader.open(name)).find((complaint) => complaint !== null) ?? null;
}

/** What is wrong with NVIDIA's driver, or null. */
export function complaintAboutDriver(loader: LibraryLoader): { problem: string; remedy: string } | null {
  const complaint = loader.open('libcuda.so.1');
  if (complaint !== null) {
    return {
      problem: `NVIDIA's driver is not there: ${complaint}.`,
      remedy: `Install NVIDIA's driver (${DRIVER}); in a container, start that with access to the GPU.`,
    };
  }
  const version = loader.driverVersion();
  return version !== null && version >= CUDA_OF_DRIVER
    ? null
    : {
        problem: `NVIDIA's driver is too old: it can do CUDA ${version === null ? 'of an unknown version' : versionText(version)}, and 12.0 is needed.`,
        remedy: `Install a newer driver (${DRIVER}).`,
      };
}

/** CUDA's numbers: 12030 is 12.3. */
function versionText(version: number): string {
  return `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
}

function openGpuLibrary(loader: LibraryLoader, file: string, code: string): void {
  const complaint = loader.open(file);
  if (complaint === null) return;
  throw new SetupError(
    code,
    `NVIDIA's library ${file} cannot be loaded: ${complaint}\nThe file is damaged, or what it needs is missing or of another version.`,
    HOW_TO_REPLACE,
  );
}

function fileOf(found: ReadonlyMap<{ readonly file: string }, string>, name: string): string {
  return [...found].find(([library]) => library.file === name)?.[1] ?? name;
}
