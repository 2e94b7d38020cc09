import { Tensor, util } from '@tensorflow/tfjs-core';
import type { Request } from '../../program/requests';
import type { ModelInputs } from './types';

/** A call of a model, checked and in TensorFlow's terms. */
export interface Call {
  readonly request: Request;
  /** In the order of the request's feeds. */
  readonly inputs: Tensor[];
}

interface AcceptedCall {
  /** Of a map of inputs. */
  readonly names: string[] | undefined;
  readonly dtypes: string[];
  readonly shapes: number[][];
  readonly outputs: string[] | undefined;
  readonly request: Request;
  /** For each feed, which of the given tensors it is. */
  readonly places: number[];
}

const MOST_ACCEPTED = 8;

/**
 * Calls that passed tfjs's checks. These look at names, dtypes and shapes, and take as long as all else that JavaScript does
 * in a prediction: a call that has those of one before is spared them.
 */
export class AcceptedCalls {
  /** The oldest first. */
  private readonly calls: AcceptedCall[] = [];

  /** What the call is, if it is like one before and no input is disposed. */
  find(inputs: ModelInputs, outputs: string | string[] | undefined): Call | undefined {
    const { names, tensors } = listed(inputs);
    for (const tensor of tensors) if (!(tensor instanceof Tensor) || tensor.isDisposed) return undefined;
    for (const call of this.calls) {
      if (!equal(call.names, names) || !sameOutputs(call.outputs, outputs)) continue;
      if (call.dtypes.length !== tensors.length) continue;
      const same = tensors.every(
        ({ dtype, shape }, i) => dtype === call.dtypes[i] && util.arraysEqual(shape, call.shapes[i]!),
      );
      if (same) return { request: call.request, inputs: call.places.map((place) => tensors[place]!) };
    }
    return undefined;
  }

  /** Remembers a call, unless one tensor is given twice: then its places are not known. */
  add(inputs: ModelInputs, outputs: string | string[] | undefined, call: Call): void {
    const { names, tensors } = listed(inputs);
    if (new Set(tensors).size < tensors.length) return;
    if (this.calls.length >= MOST_ACCEPTED) this.calls.shift();
    this.calls.push({
      names,
      dtypes: tensors.map(({ dtype }) => dtype),
      shapes: tensors.map(({ shape }) => shape.slice()),
      outputs: outputs === undefined ? undefined : [outputs].flat(),
      request: call.request,
      places: call.inputs.map((input) => tensors.indexOf(input)),
    });
  }
}

function listed(inputs: ModelInputs): { names: string[] | undefined; tensors: Tensor[] } {
  if (inputs instanceof Tensor) return { names: undefined, tensors: [inputs] };
  if (Array.isArray(inputs)) return { names: undefined, tensors: inputs };
  // tfjs takes nothing for no inputs.
  return { names: Object.keys(inputs ?? {}), tensors: Object.values(inputs ?? {}) };
}

function sameOutputs(known: string[] | undefined, outputs: string | string[] | undefined): boolean {
  if (typeof outputs === 'string') return known?.length === 1 && known[0] === outputs;
  return equal(known, outputs);
}

function equal(a: string[] | undefined, b: string[] | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.length === b.length && a.every((name, i) => name === b[i]);
}
