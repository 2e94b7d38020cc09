import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { TftrtBackend } from '../backend/backend';
import type { Handle } from '../native';

/** One way to run a set of feeds and fetches of a graph. */
export interface Runner {
  readonly kind: 'tensorflow' | 'tensorrt';
  readonly captured: boolean;
  /** Inputs in the order of the feeds, outputs in that of the fetches. */
  run(backend: TftrtBackend, inputs: readonly TensorInfo[]): TensorInfo[];
  runAsync(backend: TftrtBackend, inputs: readonly TensorInfo[]): Promise<TensorInfo[]>;
  dispose(): void;
}

/** A session's callable. */
export class CallableRunner implements Runner {
  readonly captured = false;

  constructor(
    readonly kind: 'tensorflow' | 'tensorrt',
    private readonly callable: Handle,
    private readonly fetches: number,
  ) {}

  run(backend: TftrtBackend, inputs: readonly TensorInfo[]): TensorInfo[] {
    const { addon } = backend.runtime;
    return backend.outputs(addon.runCallable(this.callable, this.pass(backend, inputs)));
  }

  async runAsync(backend: TftrtBackend, inputs: readonly TensorInfo[]): Promise<TensorInfo[]> {
    const { addon } = backend.runtime;
    const described = await addon.runCallableAsync(this.callable, this.pass(backend, inputs));
    return backend.outputs(this.fetches, described);
  }

  dispose(): void {
    // Callables go with their program.
  }

  private pass(backend: TftrtBackend, inputs: readonly TensorInfo[]): number {
    passHandles(
      backend,
      inputs.map((input) => backend.handle(input)),
      this.fetches,
    );
    return inputs.length;
  }
}

/** A CUDA graph. Values that are on the host still go straight into the graph's own input. */
export class CapturedRunner implements Runner {
  readonly captured = true;

  constructor(
    readonly kind: 'tensorflow' | 'tensorrt',
    private readonly graph: Handle,
    private readonly fetches: number,
    private readonly release: () => void,
  ) {}

  run(backend: TftrtBackend, inputs: readonly TensorInfo[]): TensorInfo[] {
    const { addon } = backend.runtime;
    const arrays = this.pass(backend, inputs);
    return backend.outputs(addon.runCapturedGraph(this.graph, inputs.length, arrays));
  }

  async runAsync(backend: TftrtBackend, inputs: readonly TensorInfo[]): Promise<TensorInfo[]> {
    const { addon } = backend.runtime;
    const arrays = this.pass(backend, inputs);
    const described = await addon.runCapturedGraphAsync(this.graph, inputs.length, arrays);
    return backend.outputs(this.fetches, described);
  }

  dispose(): void {
    this.release();
  }

  /** Puts handles into the command buffer, 0 for an input whose values are returned instead. */
  private pass(backend: TftrtBackend, inputs: readonly TensorInfo[]): Array<ArrayBufferView | undefined> {
    const arrays: Array<ArrayBufferView | undefined> = new Array(inputs.length);
    const handles = inputs.map((input, i) => {
      const values = backend.valuesToFeed(input);
      if (values === undefined) return backend.handle(input);
      arrays[i] = values;
      return 0;
    });
    passHandles(backend, handles, this.fetches);
    return arrays;
  }
}

/** Hands inputs to the next native call. */
export function passHandles(backend: TftrtBackend, handles: readonly Handle[], outputs: number): void {
  const { runtime } = backend;
  runtime.reserve(handles.length, outputs);
  const { commands } = runtime;
  for (let i = 0; i < handles.length; i++) commands[i] = handles[i]!;
}
