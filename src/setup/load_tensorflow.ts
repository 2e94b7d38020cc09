import fs from 'node:fs';
import path from 'node:path';
import { SetupError } from '../errors';
import {
  howToGetTensorFlow,
  locateTensorFlow,
  TENSORFLOW_VERSION,
  type TensorFlowInstallation,
} from './paths';
import { sayingPermission } from './permission';

/** What the small addon `tftrt_loader` exports (native/loader.cc). */
export interface LibraryLoader {
  /** Loads a shared library; returns the dynamic linker's complaint, or null. */
  open(path: string): string | null;
  /** The version that the loaded TensorFlow reports, or null when none is loaded. */
  version(): string | null;
  /** Calls a function without arguments, such as `cudnnGetVersion`, of a loaded library; null where there is none. */
  call(library: string, symbol: string): number | null;
  /** The CUDA version that NVIDIA's driver, once opened, can do: 12030 for 12.3. */
  driverVersion(): number | null;
  /** The first call in the process decides what that is configured with, and gets null; later ones get what was decided. */
  adoptConfiguration(wanted: string): string | null;
  /** For who decided, and could not make the devices. */
  dropConfiguration(): void;
}

/**
 * Loads TensorFlow's libraries, as `locateTensorFlow` found them, into this process, so that the addon that is linked with them
 * can be loaded next. Costs little when they are loaded already (another thread did it).
 */
export function loadTensorFlow(
  loader: LibraryLoader,
  tensorflow: TensorFlowInstallation = locateTensorFlow(),
): TensorFlowInstallation {
  return sayingPermission(() => load(loader, tensorflow));
}

function load(loader: LibraryLoader, tensorflow: TensorFlowInstallation): TensorFlowInstallation {
  refuseOtherTensorFlow(tensorflow);
  // libtensorflow_cc brings libtensorflow_framework itself, from the folder it is in. The two define some thousand
  // symbols twice (registries, locks, counters); opened together, one definition serves both, as it does in Python.
  const complaint = loader.open(tensorflow.libraries.cc);
  if (complaint !== null) throw cannotLoad(tensorflow.libraries.cc, complaint);
  refuseOtherTensorFlow(tensorflow);
  const version = loader.version();
  if (version !== TENSORFLOW_VERSION) {
    throw new SetupError(
      'TFTRT_TENSORFLOW_VERSION',
      `${tensorflow.libraries.cc} is TensorFlow ${version ?? 'of an unknown version'}, but ${TENSORFLOW_VERSION} is needed.`,
      howToGetTensorFlow(),
    );
  }
  return tensorflow;
}

function cannotLoad(library: string, complaint: string): SetupError {
  const problem = `TensorFlow's library ${library} cannot be loaded: ${complaint}`;
  // The dynamic linker has the same words for both.
  if (/cannot allocate memory|failed to map segment/i.test(complaint)) {
    return new SetupError(
      'TFTRT_TENSORFLOW_LOAD',
      `${problem}\nThere is not enough memory for it, or this process is not allowed enough (the library takes 0.9 GB of address space, ` +
        'and computing takes more); or it is on a file system that is mounted with `noexec`.',
      'Raise the limit (`ulimit -v unlimited`), or give the machine or container more memory; TFTRT_CACHE_DIR names a folder on another file system.',
    );
  }
  return new SetupError(
    'TFTRT_TENSORFLOW_LOAD',
    `${problem}\nThe file is damaged or does not fit this system (it needs x86-64 with AVX and glibc 2.17 or later).`,
    howToGetTensorFlow(),
  );
}

/**
 * Two TensorFlows in one process share the name `libtensorflow_framework.so.2`, and the dynamic linker would give the
 * second one the first one's library: a crash at best. (One way to get there is @tensorflow/tfjs-node.)
 */
function refuseOtherTensorFlow(tensorflow: TensorFlowInstallation): void {
  const own = Object.values(tensorflow.libraries).map((file) => fs.realpathSync(file));
  const isOther = (file: string) => !own.some((ours) => path.dirname(ours) === path.dirname(file));
  const others = [...mappedTensorFlowLibraries(), ...librariesInPath()].filter(isOther);
  if (others.length === 0) return;
  throw new SetupError(
    'TFTRT_TENSORFLOW_CONFLICT',
    'Another TensorFlow is loaded in this process, or would be found first, and two cannot be:\n' +
      `${others.map((file) => `  found: ${file}\n`).join('')}  needed: ${tensorflow.libraries.cc}`,
    'Use the package that loads it (@tensorflow/tfjs-node, for one) in another process, or remove its folder from LD_LIBRARY_PATH.',
  );
}

/** The files of TensorFlow libraries that this process has in its memory. */
function mappedTensorFlowLibraries(): string[] {
  const files = ownMaps().match(/\/.*\/libtensorflow(?:_cc|_framework)?\.so\S*$/gm);
  return [...new Set(files)];
}

function ownMaps(): string {
  try {
    return fs.readFileSync('/proc/self/maps', 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_ACCESS_DENIED') throw cause;
    throw new SetupError(
      'TFTRT_NO_PROC',
      `The system does not tell what this process has loaded: ${(cause as Error).message}. Another TensorFlow in it would not be noticed, and two crash.`,
      'Mount /proc (`mount -t proc proc /proc`; a container and chroot need it too), so that this process may read it.',
      { cause },
    );
  }
}

/** The files that the dynamic linker would take for a TensorFlow library before it looks beside libtensorflow_cc. */
function librariesInPath(): string[] {
  const folders = (process.env.LD_LIBRARY_PATH ?? '').split(path.delimiter).filter(Boolean);
  return folders
    .map((folder) => path.join(folder, 'libtensorflow_framework.so.2'))
    .filter((file) => fs.existsSync(file))
    .map((file) => fs.realpathSync(file));
}
