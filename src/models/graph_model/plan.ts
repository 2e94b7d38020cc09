import type { NamedTensorMap, Tensor } from '@tensorflow/tfjs-core';
import type { TftrtBackend } from '../../backend/backend';
import { toTFDataType } from '../../dtypes';
import { disposedModel, TftrtError } from '../../errors';
import { parseTensorName } from '../../program/graph_def';
import { type GraphSource, Program, type Weight } from '../../program/program';
import { callableKey, holdInputs, planRequest, toTensors } from '../../program/requests';
import type { Buildable } from '../../tensorrt/context';
import { AcceptedCalls, type Call } from './accepted_calls';
import { normalizeInputs } from './inputs';
import { labelOf } from './label';
import { rewriteGraph } from './rewrite';
import { mergeInitializer } from './tables';
import type { ExecutorNode, GraphExecutor, GraphModelInternals, ModelInputs } from './types';

/** A GraphModel as one Program. Made at the model's first use on the backend. */
export class GraphModelPlan {
  private program: Program | undefined;
  private pending: Promise<Program> | undefined;
  private disposed = false;
  /** Asynchronous calls that have not settled. They go on after `dispose`, which leaves the program to the last of them. */
  private calls = 0;
  /** Sets of feeds and fetches that are known to be complete. */
  private readonly checked = new Set<string>();
  private readonly accepted = new AcceptedCalls();

  constructor(
    private readonly model: GraphModelInternals,
    private readonly backend: TftrtBackend,
  ) {}

  /** As GraphModel.execute, in one run. */
  execute(inputs: ModelInputs, outputs?: string | string[]): Tensor | Tensor[] {
    this.requireLive();
    const { request, inputs: tensors } = this.prepare(inputs, outputs);
    this.program ??= Program.fromGraph(this.backend.runtime, this.label(), () => this.source());
    const results = this.program.run(this.backend, request, tensors);
    return single(toTensors(this.backend, request, tensors, results));
  }

  /** As GraphModel.executeAsync, off the event loop. */
  async executeAsync(inputs: ModelInputs, outputs?: string | string[]): Promise<Tensor | Tensor[]> {
    this.requireLive();
    const { request, inputs: tensors } = this.prepare(inputs, outputs);
    const held = holdInputs(this.backend, this.label(), tensors);
    this.calls++;
    try {
      const program = this.program ?? (await this.programAsync());
      const results = await program.runAsync(this.backend, request, held);
      return single(toTensors(this.backend, request, held, results));
    } finally {
      for (const input of held) input.dispose();
      this.calls--;
      this.releaseUnused();
    }
  }

  /** What `build` needs of the model. */
  async buildable(): Promise<Buildable> {
    this.requireLive();
    return {
      label: this.label(),
      backend: this.backend,
      program: await this.programToBuild(),
      bind: (inputs, outputs) => this.prepare(inputs, outputs),
      declaredInputs: () =>
        this.model.inputs
          .filter(({ name }) => !isResource(this.executor.graph.nodes[parseTensorName(name)[0]]))
          .map(({ name, shape, dtype }) => ({ name, shape: shape ?? [], dtype })),
    };
  }

  /** Takes no more calls; those in flight still finish. */
  dispose(): void {
    this.disposed = true;
    this.releaseUnused();
  }

  private releaseUnused(): void {
    if (!this.disposed || this.calls > 0) return;
    this.program?.dispose();
    this.program = undefined;
  }

  private async programToBuild(): Promise<Program> {
    this.calls++;
    try {
      const program = this.program ?? (await this.programAsync());
      this.requireLive();
      return program;
    } finally {
      this.calls--;
      this.releaseUnused();
    }
  }

  private async programAsync(): Promise<Program> {
    const { runtime } = this.backend;
    this.pending ??= Program.fromGraphAsync(runtime, this.label(), () => this.source()).finally(() => {
      this.pending = undefined;
    });
    const made = await this.pending;
    // A synchronous call may have made one meanwhile.
    if (this.program !== undefined && this.program !== made) made.dispose();
    else this.program = made;
    return this.program;
  }

  /** What Program.fromGraph takes. */
  private source(): GraphSource {
    const { graph, initializers } = mergeInitializer(this.model);
    const { runtime } = this.backend;
    const rewritten = rewriteGraph(graph, { onGpu: runtime.onGpu, oneDnn: runtime.addon.oneDnnEnabled() });
    return { graph: rewritten, weights: this.weights(), initializers };
  }

  private weights(): Weight[] {
    return Object.entries(this.executor.weightMap).flatMap(([name, [tensor]]) => {
      if (tensor === undefined) return [];
      const values = this.backend.hostValues(tensor) as Weight['values'];
      return [{ name, dtype: toTFDataType(tensor.dtype), shape: tensor.shape, values }];
    });
  }

  private prepare(inputs: ModelInputs, outputs: string | string[] | undefined): Call {
    const wanted = outputs || undefined; // tfjs takes null, and '', for all outputs
    const known = this.accepted.find(inputs, wanted);
    if (known !== undefined) return known;
    const call = this.check(inputs, wanted);
    this.accepted.add(inputs, wanted, call);
    return call;
  }

  /** tfjs's own checks, in its order and with its messages. */
  private check(inputs: ModelInputs, outputs: string | string[] | undefined): Call {
    const { executor, model } = this;
    const named: NamedTensorMap = executor.mapInputs(normalizeInputs(model, inputs));
    executor.checkInputs(named);
    executor.checkInputShapeAndType(named);
    const requested = executor.mapOutputs(model.normalizeOutputs(outputs));
    executor.checkOutputs(requested);

    const [feeds, tensors] = this.inOrder(named);
    tensors.forEach((tensor, i) => {
      if (tensor.isDisposed) {
        throw new TftrtError(
          'TFTRT_TENSOR_DISPOSED',
          `The input '${feeds[i]}' of ${this.label()} is a disposed tensor.`,
        );
      }
    });
    this.requireComplete(feeds, requested);
    return { request: planRequest(feeds, requested), inputs: tensors };
  }

  /** Names and tensors in the order of the model's inputs, however the caller's map has them: one callable serves all. */
  private inOrder(named: NamedTensorMap): [feeds: string[], tensors: Tensor[]] {
    const order = new Map(this.model.inputs.map(({ name }, i) => [parseTensorName(name)[0], i]));
    const place = (name: string) => order.get(parseTensorName(name)[0]) ?? order.size;
    const entries = Object.entries(named).sort(
      ([a], [b]) => place(a) - place(b) || (a < b ? -1 : a > b ? 1 : 0),
    );
    return [entries.map(([name]) => name), entries.map(([, tensor]) => tensor)];
  }

  /** tfjs's error for outputs that need inputs which were not given. */
  private requireComplete(feeds: string[], outputs: string[]): void {
    const key = callableKey(feeds, outputs);
    if (this.checked.has(key)) return;
    const missing = missingInputs(this.executor, feeds, outputs);
    if (missing.length > 0) {
      throw new Error(
        `Cannot compute the outputs [${outputs}] from the provided inputs [${feeds}]. Missing the following inputs: [${missing}]`,
      );
    }
    this.checked.add(key);
  }

  private get executor(): GraphExecutor {
    return this.model.executor!;
  }

  private label(): string {
    return labelOf(this.model);
  }

  private requireLive(): void {
    if (this.disposed) throw disposedModel(this.label());
  }
}

function single(tensors: Tensor[]): Tensor | Tensor[] {
  return tensors.length === 1 ? tensors[0]! : tensors;
}

/** Placeholders on the way to the outputs that are not fed. */
function missingInputs(executor: GraphExecutor, feeds: string[], outputs: string[]): string[] {
  const { nodes } = executor.graph;
  const seen = new Set(feeds.map((name) => parseTensorName(name)[0]));
  const missing: string[] = [];
  const open: Array<ExecutorNode | undefined> = outputs.map((name) => nodes[parseTensorName(name)[0]]);
  while (open.length > 0) {
    const node = open.pop();
    if (node === undefined || seen.has(node.name)) continue;
    seen.add(node.name);
    if (node.op === 'Placeholder' && !isResource(node)) missing.push(node.name);
    open.push(...node.inputs);
  }
  return missing;
}

/** Tables come from the initializer graph, not from the caller. */
function isResource(node: ExecutorNode | undefined): boolean {
  return node?.rawAttrs?.dtype?.type === 'DT_RESOURCE';
}
