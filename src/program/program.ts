import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { TftrtBackend } from '../backend/backend';
import { DT } from '../dtypes';
import { disposedModel, failedModel, notLoaded, TftrtError } from '../errors';
import type { Handle, NativeRuntime, ProgramArguments } from '../native';
import { fullTensorName, type GraphDef } from './graph_def';
import { tellOfRecurringCall } from './recurring';
import { callableKey, type Request } from './requests';
import { CallableRunner, type Runner } from './runner';
import { type TierSource, Tiers, tierCounts } from './tiers';

/** A constant's values, for a Const node of the graph with the same name that has none. */
export interface Weight {
  readonly name: string;
  /** TensorFlow's number of the values' dtype; the node's dtype may be wider or narrower, see native/weights.h. */
  readonly dtype: number;
  readonly shape: number[];
  readonly values: ArrayBufferView | Uint8Array[];
}

/** A model's graph with its weights, and nodes to run once, such as those that fill hash tables. */
export interface GraphSource {
  readonly graph: GraphDef;
  readonly weights: Weight[];
  readonly initializers: string[];
}

/** What an endpoint's values are narrowed from on the host, and so are not fetched to the device. */
const NARROWED_ON_HOST: ReadonlySet<number> = new Set([DT.INT64, DT.UINT32, DT.UINT64]);

/**
 * A whole graph in a TensorFlow session, and the callables compiled from it: one for each set of feeds and fetches.
 * Inputs and outputs stay in the device's memory.
 */
export class Program {
  private readonly callables = new Map<string, Handle>();
  private readonly compiling = new Map<string, Promise<Handle>>();
  private upper: Tiers | undefined;
  /** Whether any run wrote variables. */
  private writes = false;
  private disposed = false;
  /** Calls of `runAsync` that have not settled. They go on after `dispose`, which leaves the session to the last of them. */
  private running = 0;
  private released = false;

  private constructor(
    readonly runtime: NativeRuntime,
    private readonly handle: Handle,
    /** Says in errors which model it is. */
    readonly label: string,
    /** The graph for what is built from it. */
    private readonly source: (feeds: string[], fetches: string[]) => Promise<Handle>,
    /** Whether engines and CUDA graphs can be made from it. */
    private readonly convertible = true,
  ) {}

  /** Makes the session on this thread. `source` is asked again when engines or CUDA graphs are made of the model. */
  static fromGraph(runtime: NativeRuntime, label: string, source: () => GraphSource): Program {
    const { graph, weights, initializers } = source();
    let handle: Handle;
    try {
      handle = runtime.addon.createProgram(false, ...programArguments(runtime, graph, weights));
    } catch (error) {
      throw notLoaded(`The graph of the model ${label}`, error);
    }
    return new Program(runtime, handle, label, graphOf(runtime, handle, source)).initialize(initializers);
  }

  /** As `fromGraph`, off the event loop. The weights' values must not change until then. */
  static async fromGraphAsync(
    runtime: NativeRuntime,
    label: string,
    source: () => GraphSource,
  ): Promise<Program> {
    const { graph, weights, initializers } = source();
    const handle = await runtime.addon
      .createProgram(true, ...programArguments(runtime, graph, weights))
      .catch((error) => {
        throw notLoaded(`The graph of the model ${label}`, error);
      });
    return new Program(runtime, handle, label, graphOf(runtime, handle, source)).initialize(initializers);
  }

  /** Loads a SavedModel off the event loop. */
  static async fromSavedModel(runtime: NativeRuntime, directory: string, tags: string[]): Promise<Program> {
    const handle = await runtime.addon.loadSavedModel(
      true,
      directory,
      tags,
      JSON.stringify(sessionConfig(runtime, false)),
    );
    return new Program(runtime, handle, directory, (feeds, fetches) =>
      runtime.addon.freezeProgram(true, handle, feeds, fetches),
    );
  }

  /**
   * Loads a serialized GraphDef off the event loop. Its bytes must not change as long as the program lives: engines and CUDA
   * graphs are made from them, unless `fixed` says why not.
   */
  static async fromGraphDef(
    runtime: NativeRuntime,
    label: string,
    graphDef: Uint8Array,
    fixed?: string,
  ): Promise<Program> {
    const { addon } = runtime;
    const handle = await addon.createGraphDefProgram(graphDef, JSON.stringify(sessionConfig(runtime, false)));
    const source = async (feeds: string[], fetches: string[]) => {
      if (fixed !== undefined) throw new TftrtError('TFTRT_NOT_CAPTURED', fixed);
      const dtypes = feeds.map((name) => addon.programTensorType(handle, name));
      return addon.createGraphDefGraph(graphDef, feeds, dtypes, fetches);
    };
    return new Program(runtime, handle, label, source, fixed === undefined);
  }

  /** The signatures of a SavedModel: tensorflow.SignatureDef in JSON by name. */
  signatures(): Record<string, unknown> {
    return JSON.parse(this.runtime.addon.programSignatures(this.handle)).signatureDef ?? {};
  }

  /** TensorFlow's dtype number of a tensor; throws `TFTRT_NOT_FOUND`. */
  tensorType(name: string): number {
    this.requireLive();
    return this.runtime.addon.programTensorType(this.handle, fullTensorName(name));
  }

  /** Runs on this thread. `inputs` are in the order of the request's feeds, the outputs in that of its fetches. */
  run(backend: TftrtBackend, request: Request, inputs: readonly TensorInfo[]): TensorInfo[] {
    this.requireLive();
    const { feeds, fetches, key } = request;
    if (fetches.length === 0) return [];
    const runner = this.runnerFor(backend, request, inputs);
    let failure: unknown;
    if (runner !== undefined) {
      try {
        return runner.run(backend, inputs);
      } catch (error) {
        failure = error;
      }
    }
    let outputs: TensorInfo[];
    try {
      const callable = this.callable(key, feeds, fetches);
      const handles = inputs.map((input) => backend.handle(input));
      this.passInputs(handles, fetches.length);
      outputs = backend.outputs(this.runtime.addon.runCallable(callable, handles.length));
    } catch (error) {
      throw this.named(error);
    }
    // What TensorFlow refuses too is the inputs' fault.
    if (runner !== undefined) this.tiers(backend).retire(runner, failure);
    return outputs;
  }

  /** What runs these inputs instead of the program's own callable, if anything. Counts the run. */
  private runnerFor(
    backend: TftrtBackend,
    { key, feeds, fetches }: Request,
    inputs: readonly TensorInfo[],
  ): Runner | undefined {
    if (this.runtime.onGpu && !this.writes) return this.tiers(backend).runnerFor(key, feeds, fetches, inputs);
    tierCounts.tensorflow++;
    return undefined;
  }

  /** What serves above this program's own callables. */
  tiers(backend: TftrtBackend): Tiers {
    this.requireLive();
    this.upper ??= new Tiers(
      backend,
      this.tierSource(),
      (feeds, fetches, inputs) =>
        !this.convertible || tellOfRecurringCall({ backend, program: this, feeds, fetches, inputs }),
    );
    return this.upper;
  }

  /** What engines and CUDA graphs are made from. */
  tierSource(): TierSource {
    return {
      label: this.label,
      sessionConfig: JSON.stringify(sessionConfig(this.runtime, true)),
      graph: async (feeds, fetches) => {
        if (this.writes) throw writesVariables(this.label);
        return this.source([...feeds], [...fetches]);
      },
      base: (feeds, fetches) => this.base(feeds, fetches),
    };
  }

  /** This program's own way to run these feeds and fetches. */
  base(feeds: string[], fetches: string[]): Runner {
    const callable = this.callable(callableKey(feeds, fetches), feeds, fetches);
    return new CallableRunner('tensorflow', callable, fetches.length);
  }

  /** As `base`, compiled off the event loop. */
  async baseAsync(feeds: string[], fetches: string[]): Promise<Runner> {
    this.requireLive();
    const callable = await this.callableAsync(callableKey(feeds, fetches), feeds, fetches);
    return new CallableRunner('tensorflow', callable, fetches.length);
  }

  /** As `run`, off the event loop: compiling, uploading, running. The inputs, and this program, may be disposed of meanwhile. */
  async runAsync(
    backend: TftrtBackend,
    request: Request,
    inputs: readonly TensorInfo[],
  ): Promise<TensorInfo[]> {
    this.requireLive();
    if (request.fetches.length === 0) return [];
    this.running++;
    try {
      return await this.runToTheEnd(backend, request, inputs);
    } finally {
      this.running--;
      if (this.disposed && this.running === 0) this.release();
    }
  }

  private async runToTheEnd(
    backend: TftrtBackend,
    request: Request,
    inputs: readonly TensorInfo[],
  ): Promise<TensorInfo[]> {
    const { feeds, fetches, key } = request;
    const runner = this.runnerFor(backend, request, inputs);
    // Take part in the ownership of the inputs until the native run holds them.
    for (const input of inputs) backend.incRef(input.dataId);
    let outputs: Promise<Int32Array>;
    let failure: unknown;
    try {
      if (runner !== undefined) {
        try {
          return await runner.runAsync(backend, inputs);
        } catch (error) {
          failure = error;
        }
      }
      const callable = await this.callableAsync(key, feeds, fetches);
      for (const input of inputs) await backend.uploadAsync(input);
      const handles = inputs.map((input) => backend.handle(input));
      this.passInputs(handles, fetches.length);
      outputs = this.runtime.addon.runCallableAsync(callable, handles.length);
    } catch (error) {
      throw this.named(error);
    } finally {
      for (const input of inputs) backend.letGo(input);
    }
    const described = await outputs.catch((error) => {
      throw this.named(error);
    });
    // What TensorFlow refuses too is the inputs' fault.
    if (runner !== undefined) this.upper?.retire(runner, failure);
    return backend.outputs(fetches.length, described);
  }

  /** Takes no more calls, and releases the session once runs in flight are done. */
  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    // What runs on them holds them.
    this.upper?.dispose();
    if (this.running === 0) this.release();
  }

  private release(): void {
    this.released = true;
    for (const callable of this.callables.values()) this.runtime.addon.releaseCallable(callable);
    this.callables.clear();
    this.runtime.addon.releaseProgram(this.handle);
  }

  private initialize(initializers: string[]): Program {
    try {
      if (initializers.length > 0) this.runtime.addon.runProgramTargets(this.handle, initializers);
    } catch (error) {
      this.dispose();
      throw error;
    }
    return this;
  }

  private passInputs(handles: Handle[], outputs: number): void {
    this.runtime.reserve(handles.length, outputs);
    const { commands } = this.runtime;
    for (let i = 0; i < handles.length; i++) commands[i] = handles[i]!;
  }

  private callable(key: string, feeds: string[], fetches: string[]): Handle {
    this.requireLive();
    let callable = this.callables.get(key);
    if (callable === undefined) {
      callable = this.runtime.addon.createCallable(false, this.handle, this.callableOptions(feeds, fetches));
      this.callables.set(key, callable);
    }
    return callable;
  }

  /** Calls that come while one is compiled wait for it: a service may begin with hundreds at once. */
  private async callableAsync(key: string, feeds: string[], fetches: string[]): Promise<Handle> {
    const known = this.callables.get(key) ?? this.compiling.get(key);
    if (known !== undefined) return known;
    const made = this.compile(key, feeds, fetches).finally(() => this.compiling.delete(key));
    this.compiling.set(key, made);
    return made;
  }

  private async compile(key: string, feeds: string[], fetches: string[]): Promise<Handle> {
    const made = await this.runtime.addon.createCallable(
      true,
      this.handle,
      this.callableOptions(feeds, fetches),
    );
    // Meanwhile a synchronous call may have compiled the same, or, where no run waits for this, the session may be gone.
    const other = this.callables.get(key);
    if (other !== undefined || this.released) this.runtime.addon.releaseCallable(made);
    if (this.released) throw disposedModel(this.label);
    if (other !== undefined) return other;
    this.callables.set(key, made);
    return made;
  }

  private callableOptions(feeds: string[], fetches: string[]): string {
    // Engines and CUDA graphs have the variables as they were.
    if (!this.writes && this.runtime.onGpu && this.runtime.addon.programWrites(this.handle, fetches)) {
      this.writes = true;
      this.upper?.dispose();
    }
    return placedOptions(this.runtime, this.handle, feeds, fetches);
  }

  /** TensorFlow's errors tell the node; this adds the model. */
  private named(error: unknown): unknown {
    return failedModel(this.label, error);
  }

  /** Throws `TFTRT_MODEL_DISPOSED` once the program is disposed of. */
  requireLive(): void {
    if (this.disposed) throw disposedModel(this.label);
  }
}

function writesVariables(label: string): TftrtError {
  return new TftrtError(
    'TFTRT_NOT_FREEZABLE',
    `The model ${label} writes its variables, so that no engine can be built of it: TensorFlow goes on serving it.`,
  );
}

/** tensorflow.CallableOptions in JSON: what lives on the device is fed and fetched there. */
export function placedOptions(
  { addon, deviceName, onGpu }: NativeRuntime,
  program: Handle,
  feeds: readonly string[],
  fetches: readonly string[],
): string {
  const feed = feeds.map(fullTensorName);
  const fetch = fetches.map(fullTensorName);
  const dtypeOf = (name: string) => addon.programTensorType(program, name);
  const devices = (names: string[]) => Object.fromEntries(names.map((name) => [name, deviceName]));
  return JSON.stringify({
    feed,
    fetch,
    ...(onGpu
      ? {
          feedDevices: devices(feed.filter((name) => addon.onDevice(dtypeOf(name)))),
          fetchDevices: devices(
            fetch.filter((name) => addon.onDevice(dtypeOf(name)) && !NARROWED_ON_HOST.has(dtypeOf(name))),
          ),
        }
      : {}),
  });
}

/** Makes a canonical graph of a source, with the dtypes that the program has. */
function graphOf(runtime: NativeRuntime, program: Handle, source: () => GraphSource) {
  return (feeds: string[], fetches: string[]): Promise<Handle> => {
    const { graph, weights, initializers } = source();
    const dtypes = feeds.map((name) => runtime.addon.programTensorType(program, name));
    return runtime.addon.createGraph(
      true,
      JSON.stringify(graph),
      ...weightArguments(weights),
      feeds,
      dtypes,
      fetches,
      initializers,
    );
  };
}

function weightArguments(
  weights: Weight[],
): [string[], number[], number[][], Array<ArrayBufferView | Uint8Array[]>] {
  return [
    weights.map(({ name }) => name),
    weights.map(({ dtype }) => dtype),
    weights.map(({ shape }) => shape),
    weights.map(({ values }) => values),
  ];
}

function programArguments(runtime: NativeRuntime, graph: GraphDef, weights: Weight[]): ProgramArguments {
  // tfjs-converter runs grappler. What is left in functions, the session's own inlines.
  const optimized = (graph.library?.function ?? []).length === 0;
  const config = sessionConfig(runtime, true, optimized);
  return [JSON.stringify(graph), JSON.stringify(config), ...weightArguments(weights)];
}

/**
 * tensorflow.ConfigProto of a session, with grappler's remapper off, but for SavedModels on the CPU, whose graphs bring no
 * fusions. On the CPU it fuses x·relu6(x+3)·c with any c near 1/6 into a hard swish, which costs models with float16 weights
 * their precision, and some graphs that it made have crashed TensorFlow's oneDNN pass. On a GPU the convolutions that it
 * fuses are slower, and so are those in NCHW, for which the layout optimizer transposes: ResNet-50, batch 1, TF32, 0.94 ms
 * with the second, 1.25 with both, 0.91 with neither (benchmarks/results/2026-12-01-gpu-layout.json).
 *
 * A graph that is `optimized`, as tfjs-converter leaves it, does without all of grappler on the CPU. There it would take most
 * of the first run, for nothing: MobileNetV2's takes 114 ms instead of 284, later ones 12 ms either way.
 */
export function sessionConfig(
  runtime: NativeRuntime,
  fused: boolean,
  optimized = false,
): Record<string, unknown> {
  if (!runtime.onGpu && !fused) return { ...runtime.configProto };
  const layoutOptimizer = runtime.onGpu ? 'OFF' : 'DEFAULT';
  const rewriteOptions =
    optimized && !runtime.onGpu ? { disableMetaOptimizer: true } : { remapping: 'OFF', layoutOptimizer };
  return { ...runtime.configProto, graphOptions: { rewriteOptions } };
}
