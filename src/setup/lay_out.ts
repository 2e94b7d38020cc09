// Lays out libraries that a machine has already, as links: `npm run setup -- --from FOLDER`. On a machine with neither
// npm nor a compiler, where this package lies built, the same is `node dist/setup/lay_out.js FOLDER`.

import fs from 'node:fs';
import path from 'node:path';
import { TftrtError } from '../errors';
import {
  CUDA_LIBRARIES,
  describeMissing,
  findLibraries,
  type GpuLibrary,
  gpuLibrariesHome,
  OPTIONAL_LIBRARIES,
  type SearchPlaces,
  TENSORRT_LIBRARIES,
} from './gpu_libraries';
import { makePartialFolder, replaceFolder } from './install_folder';
import { addAliases, addTensorRtNames } from './install_gpu_libraries';
import { tensorFlowPlace } from './paths';
import { report } from './run_step';

/** TensorFlow's own, which a folder may have too. They are linked only where set-up did not bring TensorFlow. */
const TENSORFLOW_LIBRARIES: readonly GpuLibrary[] = [
  { file: 'libtensorflow_framework.so.2', folder: 'tensorflow' },
  { file: 'libtensorflow_cc.so.2', folder: 'tensorflow' },
];

/**
 * Links the libraries in a folder, flat or laid out as pip and NVIDIA do, into the cache, where they are found without
 * any environment variable. Throws one error that lists all that the folder lacks of CUDA, and changes nothing then.
 */
export function layOut(from: string): void {
  const source = path.resolve(from);
  const places = placesIn(source);
  const cuda = findLibraries(CUDA_LIBRARIES, places);
  if (cuda.missing.length > 0) {
    throw new TftrtError(
      'TFTRT_CUDA_MISSING',
      `${source} lacks libraries of CUDA 12.3 and cuDNN 8.9:\n${describeMissing(cuda.missing, places)}` +
        'Nothing was changed. Name a folder that has them all, or run `npm run setup -- --gpu` to fetch them.',
    );
  }
  const optional = findLibraries(OPTIONAL_LIBRARIES, places);
  const home = gpuLibrariesHome();
  link(path.join(home, 'nvidia'), [...cuda.found, ...optional.found]);

  const tensorRt = findLibraries(TENSORRT_LIBRARIES, places);
  if (tensorRt.found.size > 0) {
    link(path.join(home, 'tensorrt'), tensorRt.found);
    addTensorRtNames();
  }
  if (tensorRt.missing.length > 0) {
    report(`without all of TensorRT 8.6.1:\n${describeMissing(tensorRt.missing, places).trimEnd()}`);
  }

  const place = tensorFlowPlace();
  const tensorFlow = findLibraries(TENSORFLOW_LIBRARIES, places);
  if (!place.chosenByUser && tensorFlow.missing.length === 0 && !fs.existsSync(place.directory)) {
    link(place.directory, tensorFlow.found);
  }
}

/** Makes a folder of links; `libraries` are all of it. Takes the place of what was there. */
function link(folder: string, libraries: Iterable<[GpuLibrary, string]>): void {
  const partial = makePartialFolder(folder);
  try {
    const content = path.join(partial, path.basename(folder));
    for (const [library, file] of libraries) {
      const name = path.join(partial, library.folder, library.file);
      fs.mkdirSync(path.dirname(name), { recursive: true });
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
