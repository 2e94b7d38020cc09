// Lays out libraries that a machine has already, as links: `tftrt install --from FOLDER`. On a machine with neither
// npm nor a compiler, where this package lies built, the same is `node dist/setup/lay_out.js FOLDER`.

import fs from 'node:fs';
import path from 'node:path';
import { TftrtError } from '../errors';
import {
  CUDA_LIBRARIES,
  describeMissing,
  describeMissingLibrary,
  findLibraries,
  type GpuLibrary,
  gpuLibrariesHome,
  OPTIONAL_LIBRARIES,
  type SearchPlaces,
  TENSORRT_LIBRARIES,
} from './gpu_libraries';
import { makePartialFolder, replaceFolder } from './install_folder';
import { addAliases, addTensorRtNames } from './install_gpu_libraries';
import { makeFolder } from './make_folder';
import { installedVersion, TENSORFLOW_VERSION, tensorFlowPlace } from './paths';
import { report } from './run_step';

/** TensorFlow's own, which a folder may have too. They are linked only where set-up did not bring TensorFlow. */
const TENSORFLOW_LIBRARIES: readonly GpuLibrary[] = [
  { file: 'libtensorflow_framework.so.2', folder: 'tensorflow' },
  { file: 'libtensorflow_cc.so.2', folder: 'tensorflow' },
];

/** pip's notes on TensorFlow: its version, and the versions of CUDA's libraries that it needs. */
const DIST_INFO = `tensorflow-${TENSORFLOW_VERSION}.dist-info`;

/**
 * Links the libraries in a folder, flat or laid out as pip and NVIDIA do, into the cache, where they are found without
 * any environment variable: those for a GPU, and TensorFlow where there is none yet. A folder may have TensorFlow only. Throws
 * one error that lists all that the folder lacks of CUDA, and changes nothing then.
 */
export function layOut(from: string): void {
  const source = path.resolve(from);
  const places = placesIn(source);
  const tensorFlow = findTensorFlow(source, places);
  const cuda = findLibraries(CUDA_LIBRARIES, places);
  const tensorRt = findLibraries(TENSORRT_LIBRARIES, places);
  const hasOnlyTensorFlow = tensorFlow !== null && cuda.found.size === 0 && tensorRt.found.size === 0;
  if (cuda.missing.length > 0 && !hasOnlyTensorFlow) {
    throw new TftrtError(
      'TFTRT_CUDA_MISSING',
      `${source} lacks libraries of CUDA 12.3 and cuDNN 8.9:\n${describeMissing(cuda.missing, places)}` +
        'Nothing was changed. Name a folder that has them all, or run `npx tftrt install --gpu` to fetch them.',
    );
  }
  if (tensorFlow !== null) linkTensorFlow(tensorFlow);
  if (hasOnlyTensorFlow) {
    report(`${source} has no libraries for a GPU`);
    return;
  }
  const optional = findLibraries(OPTIONAL_LIBRARIES, places);
  const home = gpuLibrariesHome();
  link(path.join(home, 'nvidia'), [...cuda.found, ...optional.found]);

  if (tensorRt.found.size > 0) {
    link(path.join(home, 'tensorrt'), tensorRt.found);
    addTensorRtNames();
  }
  if (tensorRt.missing.length > 0) {
    report(`without all of TensorRT 8.6.1:\n${describeMissing(tensorRt.missing, places).trimEnd()}`);
  }
}

/**
 * TensorFlow's libraries, where they are all in a folder, are needed, and are of the right version (as far as the files beside
 * them say); otherwise null.
 */
function findTensorFlow(source: string, places: SearchPlaces): ReadonlyMap<GpuLibrary, string> | null {
  const place = tensorFlowPlace();
  const { found, missing } = findLibraries(TENSORFLOW_LIBRARIES, places);
  if (place.chosenByUser || fs.existsSync(place.directory)) return null;
  const damaged = missing.filter(({ damaged }) => damaged.length > 0);
  if (damaged.length > 0) {
    throw new TftrtError(
      'TFTRT_TENSORFLOW_DAMAGED',
      `${source} has a TensorFlow that cannot be used:\n${damaged.map(describeMissingLibrary).join('')}` +
        'Nothing was changed. Name a folder with a whole one, or run `npx tftrt install` to fetch it.',
    );
  }
  if (missing.length > 0) return null;
  const directory = path.dirname([...found.values()][0]!);
  const version = installedVersion({ home: path.dirname(directory), directory });
  if (version === null || version === TENSORFLOW_VERSION) return found;
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
  link(directory, found);
  const beside: readonly [from: string, to: string][] = [
    [path.join(source, 'include'), path.join(directory, 'include')],
    [path.join(path.dirname(source), DIST_INFO), path.join(home, DIST_INFO)],
  ];
  for (const [from, to] of beside) {
    if (fs.existsSync(from) && !fs.existsSync(to)) fs.symlinkSync(fs.realpathSync(from), to);
  }
}

/** Makes a folder of links; `libraries` are all of it. Takes the place of what was there. */
function link(folder: string, libraries: Iterable<[GpuLibrary, string]>): void {
  const partial = makePartialFolder(folder);
  try {
    const content = path.join(partial, path.basename(folder));
    for (const [library, file] of libraries) {
      const name = path.join(partial, library.folder, library.file);
      makeFolder(path.dirname(name));
      fs.symlinkSync(fs.realpathSync(file), name);
    }
    addAliases(content);
    replaceFolder(folder, content, partial);
  } finally {
    fs.rmSync(partial, { recursive: true, force: true });
  }
  report(`linked ${folder}`);
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
  try {
    if (from === undefined || others.length > 0) {
      throw new TftrtError('TFTRT_INVALID_ARGUMENT', 'usage: node dist/setup/lay_out.js FOLDER');
    }
    layOut(from);
  } catch (error) {
    if (!(error instanceof TftrtError)) throw error;
    console.error(`\ntftrt: failed (${error.code}).\n${error.message}`);
    process.exit(1);
  }
}
