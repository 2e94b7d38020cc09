import { engine, type Tensor, type TensorInfo } from '@tensorflow/tfjs-core';
import type { TftrtBackend } from '../backend/backend';
import { failedModel } from '../errors';
import { fullTensorName } from './graph_def';

/**
 * What to feed and fetch for a list of requested outputs, which may name one twice, or name an input: TensorFlow takes
 * neither.
 */
export interface Request {
  readonly feeds: string[];
  /** Each once, and none that is fed. */
  readonly fetches: string[];
  /** For each requested output: the number of its fetch or, negative, of the input that it is (−1 is the first). */
  readonly sources: number[];
  /** The `callableKey` of its feeds and fetches. */
  readonly key: string;
}

export function planRequest(feedNames: readonly string[], outputNames: readonly string[]): Request {
  const feeds = feedNames.map(fullTensorName);
  const fetches: string[] = [];
  const sources = outputNames.map(fullTensorName).map((name) => {
    const fed = feeds.indexOf(name);
    if (fed >= 0) return -1 - fed;
    const known = fetches.indexOf(name);
    return known >= 0 ? known : fetches.push(name) - 1;
  });
  return { feeds, fetches, sources, key: callableKey(feeds, fetches) };
}

/** Names a set of feeds and fetches. */
export function callableKey(feeds: readonly string[], fetches: readonly string[]): string {
  return `${feeds.join('\n')}\n\n${fetches.join('\n')}`;
}

/**
 * One tensor of the backend, whichever is the active one by now, for each requested output; none is the caller's own or the same object twice, so that each can be disposed of. */
export function toTensors(
  backend: TftrtBackend,
  { sources }: Request,
  inputs: readonly Tensor[],
  results: readonly TensorInfo[],
): Tensor[] {
  const tensors = results.map((info) => engine().makeTensorFromTensorInfo(info, backend));
  const used = new Set<number>();
  return sources.map((source) => {
    if (source < 0) return inputs[-1 - source]!.clone();
    const tensor = tensors[source]!;
    if (used.has(source)) return tensor.clone();
    used.add(source);
    return tensor;
  });
}

/**
 * Holds the inputs of an asynchronous call, until the caller of this disposes of what it gives. Who calls the model may dispose
 * of them as soon as the call first waits, and use their arrays for something else.
 */
export function holdInputs(backend: TftrtBackend, label: string, inputs: readonly Tensor[]): Tensor[] {
  try {
    for (const input of inputs) backend.takeValues(input);
  } catch (error) {
    throw failedModel(label, error);
  }
  return inputs.map((input) => engine().keep(input.clone()));
}
