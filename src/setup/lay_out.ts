// Lays out libraries that a machine has already, as links: `tftrt install --from FOLDER`. On a machine with neither
// npm nor a compiler, where this package lies built, the same is `node dist/setup/lay_out.js FOLDER`.

import fs from 'node:fs';
import path from 'node:path';
import { TftrtError } from '../errors';
import {
  CUDA_LIBRARIES,
  describeMissing,
  describeMissingLibrary,
  type FoundLibraries,
  findLibraries,
  type GpuLibrary,
  gpuLibrariesHome,
  hasNvidiaGpu,
  OPTIONAL_LIBRARIES,
  type SearchPlaces,
  TENSORRT_LIBRARIES,
} from './gpu_libraries';
import { makePartialFolder, replaceFolder } from './install_folder';
import { addAliases, addTensorRtNames } from './install_gpu_libraries';
import { makeFolder } from './make_folder';
import { installedVersion, locateTensorFlow, TENSORFLOW_VERSION, tensorFlowPlace } from './paths';
import { report } from './run_step';

/** TensorFlow's own, which a folder may have too. They are linked only where set-up did not bring TensorFlow. */
const TENSORFLOW_LIBRARIES: readonly GpuLibrary[] = [
  { file: 'libtensorflow_framework.so.2', folder: 'tensorflow' },
  { file: 'libtensorflow_cc.so.2', folder: 'tensorflow' },
];

/** The same for an error, as pip lays them out. */
const TENSORFLOW_FILES = TENSORFLOW_LIBRARIES.map(({ folder, file }) => `${folder}/${file}`).join(', ');

/** pip's notes on TensorFlow: its version, and the versions of CUDA's libraries that it needs. */
const DIST_INFO = `tensorflow-${TENSORFLOW_VERSION}.dist-info`;

/** What a folder has of use. */
export interface Pack {
  /** Links TensorFlow into the cache, where it is needed and the folder has it. */
  linkTensorFlow(): void;
  /** Links the libraries for a GPU that the folder has. To be called after whatever else fills the cache. */
  linkGpuLibraries(): void;
}

/**
 * Links the libraries in a folder, flat or laid out as pip and NVIDIA do, into the cache, where they are found without
 * any environment variable: those for a GPU, and TensorFlow where there is none yet. A folder may have TensorFlow only.
 * What is there already stays. Throws one error that lists all that the folder lacks, and changes nothing then.
 */
export function layOut(from: string, wantsGpu?: boolean): void {
  const pack = examinePack(from, wantsGpu);
  pack.linkTensorFlow();
  pack.linkGpuLibraries();
}

/** The first half of `layOut`, which changes nothing. Several processes may do the rest at the same time. */
export function examinePack(from: string, wantsGpu: boolean = wantsGpuLibraries()): Pack {
  const source = path.resolve(from);
  requireFolder(from, source);
  const places = placesIn(source);
  const cuda = findLibraries(CUDA_LIBRARIES, places);
  const tensorRt = findLibraries(TENSORRT_LIBRARIES, places);
  const hasGpuLibraries = cuda.found.size + tensorRt.found.size > 0;
  const isNeeded = !hasTensorFlow();
  const tensorFlow = findTensorFlow(source, places, isNeeded || !hasGpuLibraries);
  const lacksCuda = cuda.missing.length > 0 && (wantsGpu || tensorFlow === null);
  if (hasGpuLibraries ? lacksCuda : tensorFlow === null) {
    const noTensorFlow = `${source} has no TensorFlow ${TENSORFLOW_VERSION} (${TENSORFLOW_FILES}).\n`;
    const noCuda = `${source} lacks libraries of CUDA 12.3 and cuDNN 8.9:\n${describeMissing(cuda.missing, places)}`;
    const listsCuda = hasGpuLibraries || wantsGpu;
    throw new TftrtError(
      hasGpuLibraries ? 'TFTRT_CUDA_MISSING' : 'TFTRT_TENSORFLOW_MISSING',
      (tensorFlow === null && (isNeeded || !hasGpuLibraries) ? noTensorFlow : '') +
        (listsCuda ? noCuda : '') +
        `Nothing was changed. Name a folder that has ${hasGpuLibraries ? 'them all' : 'it, such as a site-packages'}, or run ` +
        `\`npx tftrt install${listsCuda ? ' --gpu` to fetch them' : '` to fetch it'}.`,
    );
  }
  const hasAllOfCuda = cuda.missing.length === 0;
  return {
    linkTensorFlow: () => {
      if (tensorFlow === null) return;
      if (isNeeded) linkTensorFlow(tensorFlow);
      else report(`TensorFlow ${TENSORFLOW_VERSION} is installed already: ${tensorFlowPlace().directory}`);
    },
    linkGpuLibraries: () => {
      if (hasAllOfCuda) linkGpuLibraries(cuda, tensorRt, places);
      else report(`${source} has ${hasGpuLibraries ? 'not all' : 'no'} libraries for a GPU`);
    },
  };
}

/** Whether a GPU is there and not to be left alone. */
export function wantsGpuLibraries(): boolean {
  return hasNvidiaGpu() && process.env.TFTRT_DEVICE !== 'cpu';
}

/** The system's words alone would leave open what the folder was for. */
function requireFolder(from: string, source: string): void {
  const refusal = (why: string, cause?: unknown) =>
    new TftrtError(
      'TFTRT_INVALID_ARGUMENT',
      `${source}: ${why}. Expected is a folder that this user may read and that has TensorFlow ${TENSORFLOW_VERSION} or NVIDIA's libraries.`,
      { cause },
    );
  if (from === '') throw refusal('this is what an empty name came to');
  try {
    if (!fs.statSync(source).isDirectory()) throw refusal('that is a file, not a folder');
    fs.readdirSync(source);
    fs.accessSync(source, fs.constants.X_OK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof TftrtError) throw error;
    if (code === 'ENOENT' || code === 'ENOTDIR') throw refusal('there is no such folder', error);
    if (code === 'EACCES') throw refusal('it is not readable by this user', error);
    if (code === 'ELOOP') throw refusal('it is a symbolic link that leads to itself', error);
    throw refusal(message, error);
  }
}

/** Whether TensorFlow needs not be linked: it is whole, or where it is is the user's choice. */
function hasTensorFlow(): boolean {
  if (tensorFlowPlace().chosenByUser) return true;
  try {
    locateTensorFlow();
    return true;
  } catch (error) {
    if (error instanceof TftrtError) return false;
    throw error;
  }
}

/**
 * TensorFlow's libraries, where they are all in a folder; otherwise null. `strictly`: refuses those that are damaged or of
 * another version (as far as the files beside them say).
 */
function findTensorFlow(
  source: string,
  places: SearchPlaces,
  strictly: boolean,
): ReadonlyMap<GpuLibrary, string> | null {
  const { found, missing } = findLibraries(TENSORFLOW_LIBRARIES, places);
  const damaged = missing.filter(({ damaged }) => damaged.length > 0);
  if (strictly && damaged.length > 0) {
    throw new TftrtError(
      'TFTRT_TENSORFLOW_DAMAGED',
      `${source} has a TensorFlow that cannot be used:\n${damaged.map(describeMissingLibrary).join('')}` +
        'Nothing was changed. Name a folder with a whole one, or run `npx tftrt install` to fetch it.',
    );
  }
  if (missing.length > 0) return null;
  const directory = path.dirname([...found.values()][0]!);
  const version = installedVersion({ home: path.dirname(directory), directory });
  if (version === null || version === TENSORFLOW_VERSION || !strictly) return found;
  throw new TftrtError(
    'TFTRT_TENSORFLOW_VERSION',
    `${source} has TensorFlow ${version}, but ${TENSORFLOW_VERSION} is needed. Nothing was changed. ` +
      'Name a folder with that version, or run `npx tftrt install` to fetch it.',
  );
}

/** Links the libraries, what pip says about them, and the headers that building the addon takes, where they are beside them. */
function linkTensorFlow(found: ReadonlyMap<GpuLibrary, string>): void {
  const { home, directory } = tensorFlowPlace();
  const source = path.dirname([...found.values()][0]!);
  const links = linksTo(found);
  const headers = path.join(source, 'include');
  if (fs.existsSync(headers)) links.set('tensorflow/include', fs.realpathSync(headers));
  link(directory, links);
  const [info, target] = [path.join(path.dirname(source), DIST_INFO), path.join(home, DIST_INFO)];
  if (!fs.existsSync(info)) return;
  if (realPath(target) === null) fs.rmSync(target, { force: true }); // a link that leads nowhere
  try {
    fs.symlinkSync(fs.realpathSync(info), target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function linkGpuLibraries(cuda: FoundLibraries, tensorRt: FoundLibraries, places: SearchPlaces): void {
  const home = gpuLibrariesHome();
  const optional = findLibraries(OPTIONAL_LIBRARIES, places);
  link(path.join(home, 'nvidia'), linksTo([...cuda.found, ...optional.found]));
  if (tensorRt.found.size > 0) {
    link(path.join(home, 'tensorrt'), linksTo(tensorRt.found));
    addTensorRtNames();
  }
  if (tensorRt.missing.length > 0) {
    report(`without all of TensorRT 8.6.1:\n${describeMissing(tensorRt.missing, places).trimEnd()}`);
  }
}

/** By their names beside `tensorflow/`. */
function linksTo(libraries: Iterable<readonly [GpuLibrary, string]>): Map<string, string> {
  return new Map(
    [...libraries].map(([{ folder, file }, found]) => [path.join(folder, file), fs.realpathSync(found)]),
  );
}

/** Makes a folder of links; `links` are all of it, by names that begin with its own. Takes the place of what was there. */
function link(folder: string, links: ReadonlyMap<string, string>): void {
  const isLinked = () =>
    [...links].every(([name, file]) => realPath(path.join(path.dirname(folder), name)) === file);
  if (isLinked()) {
    report(`${folder} is linked already`);
    return;
  }
  const partial = makePartialFolder(folder);
  try {
    const content = path.join(partial, path.basename(folder));
    for (const [name, file] of links) {
      makeFolder(path.dirname(path.join(partial, name)));
      fs.symlinkSync(file, path.join(partial, name));
    }
    addAliases(content);
    replaceFolder(folder, content, partial, isLinked);
  } finally {
    fs.rmSync(partial, { recursive: true, force: true });
  }
  report(`linked ${folder}`);
}

/** Where a file really is, or null where there is none. */
function realPath(file: string): string | null {
  try {
    return fs.realpathSync(file);
  } catch {
    return null;
  }
}

/** A flat folder, a `site-packages`, CUDA's own folder and TensorRT's. */
function placesIn(source: string): SearchPlaces {
  const inside = ['', 'lib', 'lib64', 'extras/CUPTI/lib64', 'bin', 'nvvm/libdevice', 'tensorrt_libs'];
  return {
    homes: [source],
    folders: inside.map((folder) => path.join(source, folder)),
  };
}

if (require.main === module) {
  const [from, ...others] = process.argv.slice(2);
  if (from === '--help' || from === '-h') {
    console.log('usage: node dist/setup/lay_out.js FOLDER');
    process.exit(0);
  }
  try {
    if (from === undefined || from.startsWith('-') || others.length > 0) {
      throw new TftrtError('TFTRT_INVALID_ARGUMENT', 'usage: node dist/setup/lay_out.js FOLDER');
    }
    layOut(from);
  } catch (error) {
    if (!(error instanceof TftrtError)) throw error;
    console.error(`\ntftrt: failed (${error.code}).\n${error.message}`);
    process.exit(1);
  }
}
