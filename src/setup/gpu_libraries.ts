import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { cacheDir, TENSORFLOW_VERSION, tensorFlowPlace } from './paths';
import { sayingPermission } from './permission';
import { damageOf } from './shared_library';

/** A library of NVIDIA's that TensorFlow, or another of them, opens by its name. */
export interface GpuLibrary {
  /** The name that the dynamic linker is asked for. */
  readonly file: string;
  /** The folder beside `tensorflow/`: TensorFlow's RUNPATH and NVIDIA's wheels have it so. */
  readonly folder: string;
  /** A second name that is asked for too. */
  readonly alias?: string;
  /** What its version starts with, where the name alone does not say enough. */
  readonly version?: string;
}

/**
 * Without any of these TensorFlow registers no GPU, or fails at the first convolution. In the order of their
 * dependencies: opened one after the other, each finds those that it needs in the process already.
 */
export const CUDA_LIBRARIES: readonly GpuLibrary[] = [
  { file: 'libcudart.so.12', folder: 'nvidia/cuda_runtime/lib' },
  { file: 'libcublasLt.so.12', folder: 'nvidia/cublas/lib' },
  { file: 'libcublas.so.12', folder: 'nvidia/cublas/lib' },
  { file: 'libcufft.so.11', folder: 'nvidia/cufft/lib' },
  { file: 'libnvJitLink.so.12', folder: 'nvidia/nvjitlink/lib' },
  { file: 'libcusparse.so.12', folder: 'nvidia/cusparse/lib' },
  { file: 'libcusolver.so.11', folder: 'nvidia/cusolver/lib' },
  { file: 'libcudnn.so.8', folder: 'nvidia/cudnn/lib', version: '8.9' },
  { file: 'libcudnn_ops_infer.so.8', folder: 'nvidia/cudnn/lib', version: '8.9' },
  { file: 'libcudnn_cnn_infer.so.8', folder: 'nvidia/cudnn/lib', version: '8.9' },
  { file: 'libcudnn_ops_train.so.8', folder: 'nvidia/cudnn/lib', version: '8.9' },
  { file: 'libcudnn_cnn_train.so.8', folder: 'nvidia/cudnn/lib', version: '8.9' },
  { file: 'libcudnn_adv_infer.so.8', folder: 'nvidia/cudnn/lib', version: '8.9' },
];

/** What only some uses of TensorFlow need: training of RNNs, the profiler, collectives of several GPUs, XLA. */
export const OPTIONAL_LIBRARIES: readonly GpuLibrary[] = [
  { file: 'libcudnn_adv_train.so.8', folder: 'nvidia/cudnn/lib', version: '8.9' },
  { file: 'libcupti.so.12', folder: 'nvidia/cuda_cupti/lib' },
  { file: 'libcurand.so.10', folder: 'nvidia/curand/lib' },
  { file: 'libnccl.so.2', folder: 'nvidia/nccl/lib' },
  { file: 'libnvrtc.so.12', folder: 'nvidia/cuda_nvrtc/lib' },
  { file: 'libnvrtc-builtins.so.12.3', folder: 'nvidia/cuda_nvrtc/lib' },
  { file: 'ptxas', folder: 'nvidia/cuda_nvcc/bin' },
  { file: 'libdevice.10.bc', folder: 'nvidia/cuda_nvcc/nvvm/libdevice' },
];

/** TensorRT. TensorFlow asks for the full version by name; the last of them only builds engines. */
export const TENSORRT_LIBRARIES: readonly GpuLibrary[] = [
  { file: 'libnvinfer.so.8', alias: 'libnvinfer.so.8.6.1', folder: 'tensorrt', version: '8.6.1' },
  {
    file: 'libnvinfer_plugin.so.8',
    alias: 'libnvinfer_plugin.so.8.6.1',
    folder: 'tensorrt',
    version: '8.6.1',
  },
  { file: 'libnvinfer_builder_resource.so.8.6.1', folder: 'tensorrt' },
];

/**
 * A library without code that lies beside TensorRT's and needs them under the names above. TensorRT opens its builder
 * resource by name only, and its folder is on no search path: what this library's RUNPATH found once, that name finds.
 */
export const TENSORRT_NAMES = 'libtftrt_tensorrt.so';

/** Whether the NVIDIA driver shows a GPU to this process. */
export function hasNvidiaGpu(): boolean {
  return sayingPermission(() => fs.existsSync('/dev/nvidia0') || fs.existsSync('/proc/driver/nvidia/gpus'));
}

/** The folder for `nvidia/` and `tensorrt/` that set-up fills. An installation of the user's is left as it is. */
export function gpuLibrariesHome(): string {
  const place = tensorFlowPlace();
  return place.chosenByUser ? path.join(cacheDir(), `tensorflow-${TENSORFLOW_VERSION}-gpu`) : place.home;
}

/** Where libraries are looked for. */
export interface SearchPlaces {
  /** Folders with `nvidia/` and `tensorrt/`. */
  readonly homes: readonly string[];
  /** Folders with libraries. */
  readonly folders: readonly string[];
  /** The paths under which the dynamic linker knows a library, where it is asked. */
  readonly knownToLinker?: (file: string) => readonly string[];
}

/** The order: beside TensorFlow, in the cache, then what is installed on the machine. */
export function searchPlaces(): SearchPlaces {
  const { home, directory } = tensorFlowPlace();
  const cuda = globFolders('/usr/local', /^cuda/, 'lib64');
  return {
    homes: [...new Set([home, gpuLibrariesHome()])],
    folders: [
      directory,
      path.join(home, 'tensorrt_libs'), // the wheel of TensorRT
      ...(process.env.LD_LIBRARY_PATH ?? '').split(path.delimiter).filter(Boolean),
      ...cuda,
      '/usr/lib/x86_64-linux-gnu',
    ],
    knownToLinker: (file) => linkerCache().get(file) ?? [],
  };
}

/** What a search came to. */
export interface FoundLibraries {
  readonly found: ReadonlyMap<GpuLibrary, string>;
  readonly missing: readonly MissingLibrary[];
}

export interface MissingLibrary {
  readonly library: GpuLibrary;
  /** Where it should be. */
  readonly expected: string;
  /** Files that are this library in another version. */
  readonly otherVersions: readonly string[];
  /** Files that have its name and cannot be opened. */
  readonly damaged: readonly DamagedLibrary[];
}

export interface DamagedLibrary {
  readonly file: string;
  readonly damage: string;
}

/** Looks for libraries; opens none, and passes over those that are damaged. */
export function findLibraries(
  libraries: readonly GpuLibrary[],
  places: SearchPlaces = searchPlaces(),
): FoundLibraries {
  const found = new Map<GpuLibrary, string>();
  const missing: MissingLibrary[] = [];
  for (const library of libraries) {
    const folders = [...places.homes.map((home) => path.join(home, library.folder)), ...places.folders];
    // The linker's list is asked last: it takes a process to read it.
    const damaged: DamagedLibrary[] = [];
    const isFit = (file: string) => fits(library, file) && isWhole(file, damaged);
    const fitting = filesIn(folders, library).find(isFit) ?? places.knownToLinker?.(library.file).find(isFit);
    if (fitting !== undefined) {
      found.set(library, fitting);
      continue;
    }
    const known = new Set(damaged.map(({ file }) => fs.realpathSync(file)));
    const others = new Set(folders.flatMap((folder) => versionsIn(folder, library)));
    const otherVersions = [...others].filter((file) => !known.has(file));
    missing.push({ library, expected: path.join(folders[0]!, library.file), otherVersions, damaged });
  }
  return { found, missing };
}

/** The lines about one missing library, each with its end. */
export function describeMissingLibrary({ expected, otherVersions, damaged }: MissingLibrary): string {
  const lines =
    damaged.length > 0
      ? damaged.map(({ file, damage }) => `  unusable: ${file} (${damage})\n`)
      : [`  missing: ${expected}\n`];
  return [...lines, ...otherVersions.map((file) => `    wrong version: ${file}\n`)].join('');
}

/** The part of an error that lists the missing files and where they were sought. */
export function describeMissing(
  missing: readonly MissingLibrary[],
  places: SearchPlaces = searchPlaces(),
): string {
  const files = missing.map(describeMissingLibrary);
  const elsewhere = [...places.homes.slice(1), ...places.folders];
  if (places.knownToLinker) elsewhere.push("the dynamic linker's cache");
  return `${files.join('')}They were also sought in ${elsewhere.join(', ')}.\n`;
}

/** What to do about missing libraries. */
export function howToGetGpuLibraries(): string {
  return (
    "To get these libraries, run `npx tftrt install --gpu` in your project's folder, " +
    'or `npx tftrt install --from FOLDER` for libraries that this machine has in FOLDER.'
  );
}

/** What to do without a GPU. */
export const HOW_TO_USE_THE_CPU =
  "To run on the CPU instead, set TFTRT_DEVICE=cpu or call configure({device: 'cpu'}).";

function filesIn(folders: readonly string[], { file }: GpuLibrary): string[] {
  return folders.map((folder) => path.join(folder, file)).filter((name) => fs.existsSync(name));
}

/** Whether a file's real name, which mostly has the full version, does not speak against it. */
function fits({ version }: GpuLibrary, file: string): boolean {
  const actual = /\.so\.(\d+\.\d+.*)$/.exec(fs.realpathSync(file))?.[1];
  return version === undefined || actual === undefined || `${actual}.`.startsWith(`${version}.`);
}

/** Whether a library can be opened. Adds it to the damaged ones where not; other files than libraries are not looked at. */
function isWhole(file: string, damaged: DamagedLibrary[]): boolean {
  const damage = /\.so(\.|$)/.test(file) ? damageOf(file) : null;
  if (damage !== null) damaged.push({ file, damage });
  return damage === null;
}

/** The files of one library in a folder, whatever their version. */
function versionsIn(folder: string, { file }: GpuLibrary): string[] {
  const stem = /^.*\.so\./.exec(file)?.[0];
  if (stem === undefined || !fs.existsSync(folder)) return [];
  const names = fs.readdirSync(folder).filter((name) => name.startsWith(stem));
  const files = names.map((name) => path.join(folder, name)).filter((name) => fs.existsSync(name));
  return files.map((name) => fs.realpathSync(name));
}

function globFolders(parent: string, name: RegExp, ...inside: string[]): string[] {
  if (!fs.existsSync(parent)) return [];
  const names = fs.readdirSync(parent).filter((entry) => name.test(entry));
  return names.map((entry) => path.join(parent, entry, ...inside)).filter((folder) => fs.existsSync(folder));
}

let cached: Map<string, string[]> | undefined;

/** The dynamic linker's cache, by name. Empty where it cannot be read. */
function linkerCache(): ReadonlyMap<string, string[]> {
  if (cached !== undefined) return cached;
  cached = new Map();
  for (const [, name, file] of outputOfLdconfig().matchAll(/^\s+(\S+) \(.*x86-64.*\) => (.+)$/gm)) {
    cached.set(name!, [...(cached.get(name!) ?? []), file!]);
  }
  return cached;
}

function outputOfLdconfig(): string {
  try {
    return spawnSync('/sbin/ldconfig', ['-p'], { encoding: 'utf8' }).stdout ?? '';
  } catch {
    return ''; // Node.js allows this process no others
  }
}
