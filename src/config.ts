import { TftrtError } from './errors';
import type { NativeRuntime } from './native';
import { requireOptions, shown } from './options';
import { HOW_TO_USE_THE_CPU, hasNvidiaGpu } from './setup/gpu_libraries';
import { PRECISIONS, type Precision } from './tensorrt/options';

/**
 * What `configure` takes. All of it concerns the whole process, and is fixed once the backend was used. A thread or `vm` context
 * that configures nothing takes what the first one that used the backend was configured with.
 */
export interface Configuration {
  /**
   * `cpu`, `gpu`, or `gpu:N` for the N-th GPU that CUDA sees. Without it the environment variable TFTRT_DEVICE decides, and
   * without that: the first GPU where the machine has one, else the CPU. A GPU that is there or asked for and cannot be used
   * is an error, never a silent run on the CPU.
   */
  device?: string;
  /**
   * Several GPUs in one process, instead of `device`: `['gpu:0', 'gpu:1']`. The backends `tftrt:0`, `tftrt:1`… compute on them, in
   * this order, and `tftrt` on the first one. In TFTRT_DEVICE they are separated by commas. All other options hold for each GPU.
   */
  devices?: readonly string[];
  /**
   * Share of a GPU's memory that TensorFlow's allocator may take, above 0 and at most 1. TensorRT's engines and their scratch
   * come out of it; CUDA's own libraries (about 1 GiB) do not. Engines are built in a process of their own, one for each build that
   * goes on: while it lives, it may take as much again, and CUDA's libraries once more. It takes no more than it needs, whatever
   * `allowGrowth` says, and gives all back when the engines are built. Without a limit it takes what others leave free. Engines in
   * the cache stay as they were built, with whatever limit; with more memory TensorRT may find faster ones.
   */
  perProcessGpuMemoryFraction?: number;
  /** The same in bytes, the process that builds included; wins over the fraction. */
  memoryLimitBytes?: number;
  /**
   * The part of that memory in which CUDA graphs are recorded, taken as one piece when the first one is. Default 1 GiB; 0 for
   * no CUDA graphs.
   */
  graphArenaBytes?: number;
  /**
   * Start small and let the allocator grow, instead of taking its share at the start. Default true. With false and no limit nothing
   * is left of the GPU for the process that builds engines.
   */
  allowGrowth?: boolean;
  /**
   * How a GPU computes float32 matrix products and convolutions: `FP32` (the default) exactly, `TF32` faster, with operands
   * rounded to 10 bits of mantissa. It is also what `build` builds engines for by default; `FP16` and `INT8` concern engines
   * only, and TensorFlow itself computes as with `FP32`.
   */
  precision?: Precision;
  /** Defaults of `build`, see there. */
  maxWorkspaceSizeBytes?: number;
  minimumSegmentSize?: number;
  maximumCachedEngines?: number;
  useCalibration?: boolean;
  /**
   * Whether engines of that precision are built in the background, one at a time, for models that are run many times with the
   * same shapes, and serve from then on where they are right and faster; `build` may say otherwise for a model. Not for `INT8`, which
   * needs sample inputs. TensorRT is loaded at the first use of the backend then. Default false.
   */
  allowBuildAtRuntime?: boolean;
  /** The engine cache's size on the disk. Default 20 GiB. */
  engineCacheBytes?: number;
  /** Threads that one op may use. Default: as many as the machine has cores. */
  intraOpParallelismThreads?: number;
}

/** The options in force, with the devices decided. */
export interface ResolvedConfiguration extends Configuration {
  /** As `device` takes them. */
  readonly devices: readonly string[];
}

const KNOWN: ReadonlySet<string> = new Set<keyof Configuration>([
  'device',
  'devices',
  'perProcessGpuMemoryFraction',
  'memoryLimitBytes',
  'graphArenaBytes',
  'maxWorkspaceSizeBytes',
  'minimumSegmentSize',
  'maximumCachedEngines',
  'useCalibration',
  'engineCacheBytes',
  'allowBuildAtRuntime',
  'allowGrowth',
  'precision',
  'intraOpParallelismThreads',
]);

/** What recording CUDA graphs takes by default. */
export const DEFAULT_ARENA_BYTES = 2 ** 30;

const INT32 = 2 ** 31 - 1;
const LARGEST = Number.MAX_SAFE_INTEGER;

/** Options that are whole numbers, and the least and the most that each may be. */
const WHOLE_NUMBERS = [
  ['intraOpParallelismThreads', 1, 1024],
  ['memoryLimitBytes', 1, LARGEST],
  ['graphArenaBytes', 0, LARGEST],
  ['maxWorkspaceSizeBytes', 0, LARGEST],
  ['minimumSegmentSize', 3, INT32],
  ['maximumCachedEngines', 1, INT32],
  ['engineCacheBytes', 0, LARGEST],
] as const;

let chosen: Configuration = {};
let started: NativeRuntime | undefined;
let startedByImport = false;

/** Takes the options of `configure`. */
export function choose(configuration: Configuration): void {
  if (started !== undefined) {
    throw new TftrtError(
      'TFTRT_ALREADY_CONFIGURED',
      `configure(${shown(configuration)}) comes too late: TensorFlow's devices (${started.deviceName}) were made at the ` +
        `first use of the backend and last as long as the process. ${howToConfigureInTime()}`,
    );
  }
  requireOptions('configure', configuration, KNOWN);
  const { device, devices, precision, perProcessGpuMemoryFraction: fraction } = configuration;
  for (const name of ['allowBuildAtRuntime', 'allowGrowth', 'useCalibration'] as const) {
    const value = configuration[name];
    if (value !== undefined && typeof value !== 'boolean')
      throw invalid(`${name} is ${value}`, 'true or false');
  }
  if (device !== undefined) parseDevice(device, 'configure({device})');
  if (devices !== undefined) {
    if (device !== undefined) throw invalid('configure has both device and devices', 'one of them');
    parseDevices(devices, 'configure({devices})');
  }
  if (precision !== undefined && !PRECISIONS.includes(precision)) {
    throw invalid(`precision is '${precision}'`, PRECISIONS.map((name) => `'${name}'`).join(', '));
  }
  if (fraction !== undefined && !(typeof fraction === 'number' && fraction > 0 && fraction <= 1)) {
    throw invalid(`perProcessGpuMemoryFraction is ${shown(fraction)}`, 'a number above 0 and at most 1');
  }
  for (const [name, least, most] of WHOLE_NUMBERS) {
    const value = configuration[name];
    if (value !== undefined && !(Number.isInteger(value) && value >= least && value <= most)) {
      throw invalid(`${name} is ${shown(value)}`, `a whole number from ${least} to ${most}`);
    }
  }
  const { device: _device, devices: _devices, ...others } = chosen;
  const replaced = device !== undefined || devices !== undefined;
  chosen = { ...(replaced ? others : chosen), ...configuration };
}

/** Called where an import uses the backend: nothing of the program need have done it. */
export function noteStartByImport(): void {
  startedByImport ||= started === undefined;
}

function howToConfigureInTime(): string {
  return startedByImport
    ? 'The import of tfjs-backend-tftrt/node was that use: call configure, of tfjs-backend-tftrt, before it. As ES modules run after all ' +
        'that they import, do it in a module of its own that is imported first, or import by `await import()` after the call.'
    : 'Call configure before any tensor is made.';
}

/** The options that `configure` was called with. */
export function chosenOptions(): Readonly<Configuration> {
  return chosen;
}

/** What `configure` or TFTRT_DEVICE say, unchecked; undefined where it is left to the machine. */
function wantedDevices(): readonly string[] | undefined {
  if (chosen.devices !== undefined) return chosen.devices;
  const device = chosen.device ?? process.env.TFTRT_DEVICE;
  return device ? device.split(',') : undefined;
}

/** The options in force, with the devices decided. */
export function currentConfiguration(): ResolvedConfiguration {
  const devices = wantedDevices();
  if (devices === undefined) return { ...chosen, devices: [hasNvidiaGpu() ? 'gpu' : 'cpu'] };
  const isOption = chosen.device !== undefined || chosen.devices !== undefined;
  if (devices.length > 1) parseDevices(devices, isOption ? 'configure({devices})' : 'TFTRT_DEVICE');
  else parseDevice(devices[0]!, isOption ? 'configure({device})' : 'TFTRT_DEVICE');
  return { ...chosen, devices };
}

/**
 * For tests on a machine with one GPU or none: into how many devices a GPU is divided that are used as if each was one. On the
 * CPU, so many CPU devices are made: that runs all that concerns several backends, but nothing of memory and streams.
 */
export function virtualDevices(): number {
  return Number(process.env.TFTRT_TEST_VIRTUAL_GPUS) || 1;
}

/** How many devices there are to compute on. */
export function numberOfDevices(): number {
  const devices = started?.configuration.devices ?? wantedDevices();
  return (devices?.length ?? 1) * virtualDevices();
}

/** Called once the devices are made: from here on `configure` is an error. Checks that a wanted GPU is in use. */
export function freezeConfiguration(runtime: NativeRuntime): void {
  if (runtime.device !== 'cpu' && !runtime.onGpu) {
    throw new TftrtError(
      'TFTRT_GPU_UNAVAILABLE',
      `The device '${runtime.device}' cannot be used: the CUDA libraries are loaded, but TensorFlow made no GPU device. ` +
        `Its own log says why: run again with TF_CPP_MIN_LOG_LEVEL=0. ${HOW_TO_USE_THE_CPU}`,
    );
  }
  started = runtime;
}

/** What the devices are made with, for all threads and contexts alike. */
export function deviceOptions(configuration: ResolvedConfiguration) {
  return {
    configProto: toConfigProto(configuration),
    allowTf32: configuration.precision === 'TF32',
    memoryLimitBytes: configuration.memoryLimitBytes ?? 0,
    graphArenaBytes: configuration.graphArenaBytes ?? DEFAULT_ARENA_BYTES,
  };
}

/** The tensorflow.ConfigProto that makes the devices, as JSON. */
function toConfigProto(configuration: ResolvedConfiguration): Record<string, unknown> {
  const gpus = configuration.devices.map((device) => parseDevice(device, 'device'));
  const virtual = virtualDevices();
  const threads = configuration.intraOpParallelismThreads;
  return {
    allowSoftPlacement: true,
    ...(threads === undefined ? {} : { intraOpParallelismThreads: threads }),
    ...(gpus[0] === null
      ? { deviceCount: { GPU: 0, ...(virtual === 1 ? {} : { CPU: virtual }) } }
      : {
          gpuOptions: {
            visibleDeviceList: gpus.join(),
            allowGrowth: configuration.allowGrowth ?? true,
            ...(configuration.perProcessGpuMemoryFraction === undefined
              ? {}
              : { perProcessGpuMemoryFraction: configuration.perProcessGpuMemoryFraction }),
          },
        }),
  };
}

/** The GPU's number, or null for the CPU. */
function parseDevice(device: string, where: string): number | null {
  if (device === 'cpu') return null;
  const match = /^gpu(?::(\d+))?$/.exec(device);
  if (match === null) throw invalid(`${where} is '${device}'`, "'cpu', 'gpu' or 'gpu:N'");
  return Number(match[1] ?? 0);
}

function parseDevices(devices: readonly string[], where: string): void {
  if (!Array.isArray(devices) || devices.length === 0) {
    throw invalid(`${where} is ${shown(devices)}`, "a list such as ['gpu:0', 'gpu:1']");
  }
  const gpus = devices.map((device) => parseDevice(device, where));
  if (gpus.includes(null)) throw invalid(`${where} has 'cpu' in it`, 'only GPUs');
  if (new Set(gpus).size < gpus.length) throw invalid(`${where} is ${devices}`, 'each GPU once');
}

function invalid(what: string, expected: string): TftrtError {
  return new TftrtError('TFTRT_INVALID_ARGUMENT', `${what}; expected ${expected}.`);
}
