import {
  type DataType,
  type InferenceModel,
  type ModelPredictConfig,
  type ModelTensorInfo,
  type NamedTensorMap,
  Tensor,
} from '@tensorflow/tfjs-core';
import { tftrtBackend } from '../backend/active';
import { disposedModel, TftrtError } from '../errors';
import { fullTensorName } from '../program/graph_def';
import type { Program } from '../program/program';
import { holdInputs, planRequest, type Request, toTensors } from '../program/requests';
import type { Buildable } from '../tensorrt/context';
import type { ModelSignature, SignatureEndpoint } from './signature';

type Inputs = Tensor | Tensor[] | NamedTensorMap;
type Outputs = Tensor | Tensor[] | NamedTensorMap;

/** A graph with named inputs and outputs, run as one callable. */
export abstract class SignatureModel implements InferenceModel {
  protected disposed = false;
  private whole: Request | undefined;

  /** @internal */
  constructor(
    /** What messages call the model. */
    protected readonly label: string,
    private readonly program: Program,
    protected readonly signature: ModelSignature,
  ) {}

  /** The inputs, in the order in which a list of tensors binds to them; unknown dimensions are −1. */
  get inputs(): ModelTensorInfo[] {
    return this.signature.inputs.map(toModelTensorInfo);
  }

  /** The outputs, in the order in which a list of them is returned. */
  get outputs(): ModelTensorInfo[] {
    return this.signature.outputs.map(toModelTensorInfo);
  }

  /** Output names → names of the graph's tensors. */
  get outputNodeNames(): Record<string, string> {
    return Object.fromEntries(this.signature.outputs.map(({ name, tensor }) => [name, tensor]));
  }

  /**
   * Runs the signature. One tensor, or a list of them, binds to the inputs in their order. Returns a map of outputs by name
   * for a map of inputs; a list for a list; for one tensor the output, or a list if there are several.
   */
  predict(inputs: Inputs, _config?: ModelPredictConfig): Outputs {
    return shapeResult(inputs, this.signature.outputs, this.run(inputs, this.wholeRequest()));
  }

  /** As `predict`, off the event loop. */
  async predictAsync(inputs: Inputs, _config?: ModelPredictConfig): Promise<Outputs> {
    return shapeResult(inputs, this.signature.outputs, await this.runAsync(inputs, this.wholeRequest()));
  }

  /** Runs to the given outputs: names of the signature, or of any tensor (`node` or `node:index`) of the graph. */
  execute(inputs: Inputs, outputs: string | string[]): Tensor | Tensor[] {
    const results = this.run(inputs, this.request(this.tensorNames(outputs)));
    return typeof outputs === 'string' ? results[0]! : results;
  }

  /** As `execute`, off the event loop. */
  async executeAsync(inputs: Inputs, outputs: string | string[]): Promise<Tensor | Tensor[]> {
    const results = await this.runAsync(inputs, this.request(this.tensorNames(outputs)));
    return typeof outputs === 'string' ? results[0]! : results;
  }

  /** Releases the model; runs in flight still finish. Using it afterwards throws `TFTRT_MODEL_DISPOSED`. */
  dispose(): void {
    this.disposed = true;
    this.releaseProgram();
  }

  /** A model that shares its program with others leaves it to the last of them. */
  protected releaseProgram(): void {
    this.program.dispose();
  }

  /** @internal What `build` needs of the model. */
  async buildable(): Promise<Buildable> {
    if (this.disposed) throw disposedModel(this.label);
    return {
      label: this.label,
      backend: tftrtBackend(this.program.runtime.number),
      program: this.program,
      bind: (inputs, outputs) => {
        const request = outputs === undefined ? this.wholeRequest() : this.request(this.tensorNames(outputs));
        return { request, inputs: this.bind(inputs) };
      },
      declaredInputs: () =>
        this.signature.inputs.map(({ name, dtype, shape }) => ({
          name,
          dtype: dtype as DataType,
          shape: shape ?? [-1, -1],
        })),
    };
  }

  private run(inputs: Inputs, request: Request): Tensor[] {
    const tensors = this.bind(inputs);
    const backend = tftrtBackend(this.program.runtime.number);
    return toTensors(backend, request, tensors, this.program.run(backend, request, tensors));
  }

  private async runAsync(inputs: Inputs, request: Request): Promise<Tensor[]> {
    const tensors = this.bind(inputs);
    const backend = tftrtBackend(this.program.runtime.number);
    const held = holdInputs(backend, this.program.label, tensors);
    try {
      return toTensors(backend, request, held, await this.program.runAsync(backend, request, held));
    } finally {
      for (const input of held) input.dispose();
    }
  }

  /** For all outputs. */
  private wholeRequest(): Request {
    this.whole ??= this.request(this.signature.outputs.map(({ tensor }) => tensor));
    return this.whole;
  }

  private request(outputs: string[]): Request {
    return planRequest(
      this.signature.inputs.map(({ tensor }) => tensor),
      outputs,
    );
  }

  private tensorNames(outputs: string | string[]): string[] {
    const names = typeof outputs === 'string' ? [outputs] : outputs;
    if (!Array.isArray(names) || !names.every((name) => typeof name === 'string')) {
      throw this.inputError(
        'TFTRT_INVALID_ARGUMENT',
        `takes the name of an output or a list of names, got ${JSON.stringify(outputs)}`,
      );
    }
    return names.map((name) => {
      const output = this.signature.outputs.find((candidate) => candidate.name === name);
      if (output !== undefined) return output.tensor;
      try {
        this.program.tensorType(name);
      } catch (cause) {
        if ((cause as TftrtError).code !== 'TFTRT_NOT_FOUND') throw cause;
        throw new TftrtError(
          'TFTRT_UNKNOWN_OUTPUT',
          `The model ${this.label} has no output or node '${name}'; the signature's outputs are: ${this.signature.outputs.map((output) => output.name).join(', ')}.`,
          { cause },
        );
      }
      return fullTensorName(name);
    });
  }

  /** The tensors in the order of the signature's inputs, checked. */
  private bind(inputs: Inputs): Tensor[] {
    if (this.disposed) throw disposedModel(this.label);
    if (inputs === null || typeof inputs !== 'object') {
      throw this.inputError(
        'TFTRT_INVALID_INPUT',
        `takes a tensor, a list or a map of tensors, got ${inputs}`,
      );
    }
    const expected = this.signature.inputs;
    const named =
      inputs instanceof Tensor
        ? this.byOrder([inputs])
        : Array.isArray(inputs)
          ? this.byOrder(inputs)
          : inputs;
    for (const name of Object.keys(named)) {
      if (!expected.some((input) => input.name === name)) {
        throw this.inputError(
          'TFTRT_UNKNOWN_INPUT',
          `has no input '${name}'; its inputs are: ${this.describeInputs()}`,
        );
      }
    }
    return expected.map((input) => {
      const tensor = named[input.name];
      if (tensor === undefined) {
        throw this.inputError(
          'TFTRT_MISSING_INPUT',
          `needs the input '${input.name}'; its inputs are: ${this.describeInputs()}`,
        );
      }
      this.checkTensor(input, tensor);
      return tensor;
    });
  }

  private byOrder(tensors: Tensor[]): NamedTensorMap {
    const expected = this.signature.inputs;
    if (tensors.length !== expected.length) {
      throw this.inputError(
        'TFTRT_MISSING_INPUT',
        `has ${expected.length} inputs (${this.describeInputs()}), got ${tensors.length} tensors`,
      );
    }
    return Object.fromEntries(expected.map(({ name }, i) => [name, tensors[i]!]));
  }

  private checkTensor({ name, dtype, shape }: SignatureEndpoint, tensor: Tensor): void {
    if (!(tensor instanceof Tensor)) {
      throw this.inputError(
        'TFTRT_INVALID_INPUT',
        `takes a Tensor for its input '${name}', got ${typeof tensor}`,
      );
    }
    if (tensor.isDisposed) {
      throw this.inputError('TFTRT_TENSOR_DISPOSED', `got a disposed tensor for its input '${name}'`);
    }
    if (tensor.dtype !== dtype) {
      throw this.inputError(
        'TFTRT_INVALID_INPUT',
        `takes dtype ${dtype} for its input '${name}', got ${tensor.dtype}; cast it first`,
      );
    }
    if (shape === null) return;
    const fits =
      shape.length === tensor.shape.length && shape.every((size, i) => size < 0 || size === tensor.shape[i]);
    if (!fits) {
      throw this.inputError(
        'TFTRT_INVALID_INPUT',
        `takes shape [${shape}] (−1: any size) for its input '${name}', got [${tensor.shape}]`,
      );
    }
  }

  private describeInputs(): string {
    return (
      this.signature.inputs
        .map(({ name, dtype, shape }) => `${name}: ${dtype}[${shape ?? '…'}]`)
        .join(', ') || 'none'
    );
  }

  private inputError(code: string, what: string): TftrtError {
    return new TftrtError(code, `The model ${this.label} ${what}.`);
  }
}

function shapeResult(inputs: Inputs, outputs: SignatureEndpoint[], results: Tensor[]): Outputs {
  if (Array.isArray(inputs)) return results;
  if (inputs instanceof Tensor) return results.length === 1 ? results[0]! : results;
  return Object.fromEntries(outputs.map(({ name }, i) => [name, results[i]!]));
}

export function toModelTensorInfo({ name, tfDtype, dtype, shape }: SignatureEndpoint): ModelTensorInfo {
  return { name, dtype: dtype as DataType, tfDtype, ...(shape === null ? {} : { shape }) };
}
