import {
  currentConfiguration,
  deviceOptions,
  freezeConfiguration,
  numberOfDevices,
  type ResolvedConfiguration,
  virtualDevices,
} from './config';
import { DT } from './dtypes';
import { TftrtError } from './errors';
import { withProcessConfiguration } from './process_configuration';
import { loadAddonFile, loadLibraryLoader } from './setup/load_addon';
import { loadCuda, loadTensorRt } from './setup/load_gpu_libraries';
import { loadTensorFlow } from './setup/load_tensorflow';
import { locateTensorFlow } from './setup/paths';
import type { BuildRequest, BuiltEngines } from './tensorrt/build_request';
import { inNextTurn } from './turn';

/** Integer name of a native object. 0 is none. */
export type Handle = number;

/**
 * What the C++ addon exports (native/*_functions.cc, tensor.cc, eager.cc). Handles are integers; where a comment says
 * "commands", numbers travel through the shared Int32Array. Functions throw TftrtError.
 */
export interface NativeAddon {
  start(
    configProto: string,
    allowTf32: boolean,
    commands: Int32Array,
    errorClass: unknown,
    memoryLimitBytes: number,
    graphArenaBytes: number,
    virtualGpus: number | undefined,
    device: number,
    inNextTurn: (call: () => void) => void,
  ): string;
  /** The same functions for another device, which `start` names: with handles and ids of its own. */
  forAnotherDevice(): NativeAddon;
  attachCommands(commands: Int32Array): void;
  devices(): DeviceInfo[];
  deviceName(): string;
  /** The device that CUDA graphs are captured on; empty where nothing is. */
  arenaName(): string;
  onDevice(dtype: number): boolean;
  /** Whether TensorFlow's CPU graphs use oneDNN's kernels. */
  oneDnnEnabled(): boolean;
  synchronize(): void;
  /** Has the system end this process with the thread that started it; false if that is gone already. */
  endWithParent(parentPid: number): boolean;
  stats(): NativeStats;

  /** commands: dimensions. */
  createTensor(dtype: number, rank: number, values: ArrayBufferView): Handle;
  /** commands: dimensions. Copies on another thread; `values` must not change until then. */
  createTensorAsync(dtype: number, rank: number, values: ArrayBufferView): Promise<Handle>;
  /** commands: dimensions. */
  createStringTensor(rank: number, values: Uint8Array[]): Handle;
  /** The same memory under another shape. commands: dimensions. */
  reshapeTensor(tensor: Handle, rank: number): Handle;
  releaseTensor(tensor: Handle): void;
  /** Releases all tensors of this thread: their handles are invalid from here on. */
  releaseAllTensors(): void;
  readTensor(tensor: Handle, destination: ArrayBufferView): void;
  /** The tensor may be released before the promise settles. */
  readTensorAsync(tensor: Handle, destination: ArrayBufferView): Promise<void>;
  readStringTensor(tensor: Handle): Uint8Array[];
  tensorOnDevice(tensor: Handle): boolean;

  /** The compute stream (CUstream) of a GPU by its name in `devices`. */
  computeStream(device: string): bigint;
  /** Where a tensor in device memory is: pointer, compute stream, device. */
  deviceMemory(tensor: Handle): [pointer: bigint, stream: bigint, device: string];
  /** A copy in device memory of a tensor in host memory. */
  copyToDevice(tensor: Handle): Handle;
  /** commands: dimensions. `release` is called once, unless this throws. */
  tensorFromDevice(
    dtype: number,
    rank: number,
    pointer: bigint,
    copy: boolean,
    event: bigint | undefined,
    stream: bigint | undefined,
    release: (() => void) | undefined,
  ): Handle;

  /** Takes a tensorflow.NodeDef in JSON; returns an id for `execute`. Intern them. */
  prepareOp(nodeDef: string): number;
  /** Drops all prepared ops: their ids are invalid from here on. */
  forgetOps(): void;
  /** commands in: input handles; out: [handle, dtype, rank, dims…] of each output. Returns the number of outputs. */
  execute(op: number, inputs: number): number;
  /** tensorflow.OpDef in JSON, or undefined where TensorFlow has no such op. */
  opDefinition(op: string): string | undefined;

  createProgram(async: false, ...program: ProgramArguments): Handle;
  createProgram(async: true, ...program: ProgramArguments): Promise<Handle>;
  loadSavedModel(async: true, directory: string, tags: string[], configProto: string): Promise<Handle>;
  loadSavedModel(async: false, directory: string, tags: string[], configProto: string): Handle;
  /** The meta graphs' tags and signatures: an array of tensorflow.MetaGraphDef in JSON. */
  readSavedModel(directory: string): string;
  /** tensorflow.MetaGraphDef in JSON, with its signatures only. */
  programSignatures(program: Handle): string;
  /** dtype of a tensor "node:index"; throws TFTRT_NOT_FOUND. */
  programTensorType(program: Handle, tensor: string): number;
  /** Whether computing these tensors writes variables. */
  programWrites(program: Handle, fetches: string[]): boolean;
  runProgramTargets(program: Handle, nodes: string[]): void;
  releaseProgram(program: Handle): void;
  /** Takes tensorflow.CallableOptions in JSON. */
  createCallable(async: false, program: Handle, options: string): Handle;
  createCallable(async: true, program: Handle, options: string): Promise<Handle>;
  releaseCallable(callable: Handle): void;
  /** As `execute`, for a whole graph, on the calling thread. */
  runCallable(callable: Handle, inputs: number): number;
  /** As `runCallable`, on another thread; resolves to [handle, dtype, rank, dims…] of each output. */
  runCallableAsync(callable: Handle, inputs: number): Promise<Int32Array>;

  /** A graph with weights, cut down to the fetches: native/canonical_graph.h. */
  createGraph(async: true, ...graph: GraphArguments): Promise<Handle>;
  /** The same of a SavedModel's program, with its variables as constants. */
  freezeProgram(async: true, program: Handle, feeds: string[], fetches: string[]): Promise<Handle>;
  /** Of a serialized GraphDef; feeds: names of tensors, none for all Placeholders. Resolves to GraphEndpoints in JSON. */
  describeGraphDef(graphDef: Uint8Array, feeds: string[], fetches: string[]): Promise<string>;
  /** The bytes of these three must not change until then. */
  createGraphDefProgram(graphDef: Uint8Array, configProto: string): Promise<Handle>;
  createGraphDefGraph(
    graphDef: Uint8Array,
    feeds: string[],
    feedDTypes: number[],
    fetches: string[],
  ): Promise<Handle>;
  /** Writes what the fetches need of the graph; the Placeholders named get shapes, −1 for any size. */
  cutDownGraphDef(
    graphDef: Uint8Array,
    fetches: string[],
    placeholders: string[],
    shapes: number[][],
    file: string,
  ): Promise<void>;
  describeGraph(graph: Handle): GraphDescription;
  writeGraph(graph: Handle, file: string): Promise<void>;
  releaseGraph(graph: Handle): void;
  /** A program of the graph on the arena. */
  createArenaProgram(graph: Handle, configProto: string): Promise<Handle>;
  /** A program of what `buildEngines` left in a folder. */
  loadEngineProgram(
    directory: string,
    engines: string[],
    initializers: string[],
    onArena: boolean,
  ): Promise<Handle>;
  /** Takes tensorflow.CallableOptions in JSON; commands: handles of sample inputs. Throws TFTRT_NOT_CAPTURED. */
  captureGraph(program: Handle, options: string, inputs: number): Promise<Handle>;
  /** Resolves when its memory is free. */
  releaseCapturedGraph(graph: Handle): Promise<void>;
  /** As `runCallable`; where `commands` has a 0, the input's values are in the array. */
  runCapturedGraph(graph: Handle, inputs: number, arrays: Array<ArrayBufferView | undefined>): number;
  runCapturedGraphAsync(
    graph: Handle,
    inputs: number,
    arrays: Array<ArrayBufferView | undefined>,
  ): Promise<Int32Array>;
  /** Builds TensorRT engines, for minutes, on this thread: see src/tensorrt/build_child.ts. */
  buildEngines(request: EngineRequest, onStage: (stage: string) => void): BuiltEngines;
  /** Claims the process's turn to build engines by itself; false while another thread has it. */
  claimBuild(): boolean;
  /** Gives it back. */
  endBuild(): void;
  tensorRtVersions(): { linked: string; loaded: string };
}

/** GraphDef in JSON, ConfigProto in JSON, then the weights' names, dtypes, shapes and values. */
export type ProgramArguments = [
  graphDef: string,
  configProto: string,
  weightNames: string[],
  weightDTypes: number[],
  weightShapes: number[][],
  weightValues: Array<ArrayBufferView | Uint8Array[]>,
];

/** GraphDef in JSON, then the weights, feeds with their dtypes, fetches, and nodes to run once. */
export type GraphArguments = [
  graphDef: string,
  weightNames: string[],
  weightDTypes: number[],
  weightShapes: number[][],
  weightValues: Array<ArrayBufferView | Uint8Array[]>,
  feeds: string[],
  feedDTypes: number[],
  fetches: string[],
  initializers: string[],
];

export interface GraphDescription {
  /** Nodes. */
  readonly feeds: string[];
  /** Tensors, `node:index`. */
  readonly fetches: string[];
  readonly initializers: string[];
  readonly fingerprint: string;
}

/** What `buildEngines` is asked for: the request of src/tensorrt/build_request.ts, with tensors. */
export interface EngineRequest
  extends Omit<BuildRequest, 'samples' | 'calibration' | 'device' | 'precision'> {
  readonly precision: 'FP32' | 'FP16' | 'INT8';
  readonly directory: string;
  readonly samples: Handle[][];
  readonly calibration: Handle[][];
}

export interface DeviceInfo {
  /** TensorFlow's full name, `/job:localhost/replica:0/task:0/device:CPU:0` for one. */
  readonly name: string;
  readonly type: string;
  readonly memoryLimitBytes: number;
  /** Model, bus id and compute capability of a GPU; empty for the CPU. */
  readonly description: string;
}

/** Copies of tensors: how many, and their bytes. */
export interface Copies {
  readonly count: number;
  readonly bytes: number;
}

/**
 * What passed between the host and GPUs in this process; all zero on the CPU. Counted are this package's copies and those that
 * TensorFlow makes of an op's operands to bring them where its kernel wants them; not what happens within a graph, between
 * its nodes on the CPU and those on the GPU, nor copies of kernels' own.
 */
export interface Transfers {
  readonly hostToDevice: Copies;
  readonly deviceToHost: Copies;
  readonly deviceToDevice: Copies;
  /** Waits of a host thread for a GPU. */
  readonly synchronizations: number;
}

/** Live objects of this thread in the addon; figures of the device's allocator where it keeps any. */
export interface NativeStats {
  readonly tensors: number;
  readonly tensorBytes: number;
  readonly programs: number;
  readonly callables: number;
  readonly graphs: number;
  readonly capturedGraphs: number;
  readonly preparedOps: number;
  readonly transfers: Transfers;
  readonly deviceBytesInUse?: number;
  readonly devicePeakBytes?: number;
  readonly deviceLimitBytes?: number;
  readonly graphArenaBytesInUse?: number;
}

/**
 * The loaded addon for one device, started with the process's configuration, and the buffer through which it is called.
 */
export class NativeRuntime {
  /** Handles and shapes travel through it; see `NativeAddon`. Replaced when it grows: do not keep it. */
  commands = new Int32Array(4096);
  /** Native tensors that the backend keeps for later calls, see src/backend/constants.ts. */
  keptConstants = 0;
  readonly tensorFlowVersion: string;
  /** ConfigProto of the devices; programs' sessions start from it. */
  readonly configProto: Readonly<Record<string, unknown>>;
  /** Where computations run, as `configure` takes it. */
  readonly device: string;
  /** The same in TensorFlow's terms. */
  readonly deviceName: string;
  readonly onGpu: boolean;
  /** The device of CUDA graphs; empty where there are none. */
  readonly arenaName: string;

  constructor(
    readonly addon: NativeAddon,
    readonly configuration: ResolvedConfiguration,
    /** The device's number among those that are configured. */
    readonly number = 0,
  ) {
    const virtual = virtualDevices();
    this.device = configuration.devices[Math.floor(number / virtual)]!;
    const options = deviceOptions(configuration);
    this.configProto = options.configProto;
    this.tensorFlowVersion = addon.start(
      JSON.stringify(options.configProto),
      options.allowTf32,
      this.commands,
      TftrtError,
      options.memoryLimitBytes,
      options.graphArenaBytes,
      virtual,
      number,
      inNextTurn,
    );
    this.deviceName = addon.deviceName();
    this.onGpu = addon.onDevice(DT.FLOAT);
    this.arenaName = addon.arenaName();
  }

  /** Makes room for a call with so many inputs and outputs. A tensor has at most 254 dimensions in TensorFlow. */
  reserve(inputs: number, outputs: number): void {
    const needed = Math.max(inputs, outputs * 257);
    if (needed <= this.commands.length) return;
    this.commands = new Int32Array(needed * 2);
    this.addon.attachCommands(this.commands);
  }
}

/** By the device's number. */
const runtimes: NativeRuntime[] = [];

/**
 * The runtime of this thread for a device, by default the first, loaded and started by the first call. Throws one TftrtError
 * that says what is missing; a later call tries again.
 */
export function nativeRuntime(device = 0): NativeRuntime {
  return runtimes[device] ?? start(device);
}

/** This thread's runtimes so far. */
export function startedRuntimes(): NativeRuntime[] {
  return runtimes.filter(Boolean);
}

function start(device: number): NativeRuntime {
  if (runtimes[0] === undefined) {
    const loader = loadLibraryLoader();
    const wanted = currentConfiguration();
    const tensorflow = locateTensorFlow(); // where that is missing, it is what to say first
    const started = withProcessConfiguration(loader, wanted, (configuration) => {
      if (configuration.devices[0] !== 'cpu') loadCuda(loader);
      loadTensorFlow(loader, tensorflow);
      return new NativeRuntime(loadAddonFile('tftrt') as NativeAddon, configuration);
    });
    // Not in the middle of serving: loading it takes a while.
    if (started.configuration.allowBuildAtRuntime && started.onGpu) loadTensorRt(loader);
    freezeConfiguration(started);
    runtimes[0] = started;
  }
  const [first] = runtimes as [NativeRuntime];
  if (device === 0) return first;
  if (device >= numberOfDevices()) {
    throw new TftrtError(
      'TFTRT_INVALID_ARGUMENT',
      `There is no device for the backend 'tftrt:${device}': configured are ${first.configuration.devices.join(', ')}. Call configure({devices}) with as many GPUs as there are to be backends.`,
    );
  }
  runtimes[device] = new NativeRuntime(first.addon.forAnotherDevice(), first.configuration, device);
  return runtimes[device];
}

/**
 * Has TensorRT loaded. Call it before TensorFlow is given a graph with TensorRT's ops: it looks for TensorRT once and
 * remembers. Throws one TftrtError that lists all missing files, or says that the device is no GPU.
 */
export function requireTensorRt(): void {
  const { onGpu, deviceName } = nativeRuntime();
  if (!onGpu) {
    throw new TftrtError(
      'TFTRT_GPU_UNAVAILABLE',
      `TensorRT needs a GPU, and the backend computes on ${deviceName}. Set TFTRT_DEVICE=gpu, or call configure({device: 'gpu'}) before the first use.`,
    );
  }
  loadTensorRt(loadLibraryLoader());
}
