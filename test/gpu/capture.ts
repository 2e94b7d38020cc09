import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { planToBuild } from '#src/models/graph_model/hook';
import { denseModel } from './graphs';

type Inputs = tf.Tensor | tf.Tensor[] | tf.NamedTensorMap;

/** How often CUDA graphs served. */
export const replays = () => tftrt.stats().tiers.cudaGraphs;

/** Lets work in the background end. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const end = performance.now() + 60_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`did not come within a minute: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Predicts until a CUDA graph serves inputs like these, as it happens to any model that is used. */
export async function warmUp(model: tf.GraphModel, makeInputs: () => Inputs): Promise<void> {
  const before = replays();
  const end = performance.now() + 60_000;
  while (replays() === before) {
    if (performance.now() > end) {
      throw new Error(
        `it was not captured within a minute: ${await reasonNotToCapture(model, makeInputs())}`,
      );
    }
    const inputs = makeInputs();
    tf.dispose([await model.predictAsync(inputs), inputs]);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** Captures what serves inputs like these; undefined once it is a CUDA graph, else why it is none. Disposes of the inputs. */
export async function reasonNotToCapture(model: tf.GraphModel, inputs: Inputs): Promise<string | undefined> {
  const { program, backend, bind } = await planToBuild(model as never).buildable();
  const { request, inputs: tensors } = bind(inputs);
  const { key, feeds, fetches } = request;
  const capture = () => program.tiers(backend).captureNow(key, feeds, fetches, tensors);
  let reason = await capture();
  const end = performance.now() + 60_000;
  while (reason === 'it is being captured' && performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    reason = await capture();
  }
  tf.dispose(tensors as tf.Tensor[]);
  return reason;
}

/** Has TensorFlow make what it keeps for the next CUDA graphs, so that memory can be compared afterwards. */
export async function makeOnceOnly(): Promise<void> {
  const { programs } = tftrt.stats();
  const { model } = await denseModel();
  await warmUp(model, () => tf.ones([4, 8]));
  model.dispose();
  await until(() => tftrt.stats().programs === programs, 'the release of the program');
}

/** Puts a tensor into device memory. */
export function upload<T extends tf.Tensor>(x: T): T {
  x.dataToGPU().tensorRef.dispose();
  return x;
}

/** Whether two lists of numbers are the same, NaN included. */
export function sameValues(actual: ArrayLike<number>, expected: ArrayLike<number>): boolean {
  if (actual.length !== expected.length) return false;
  for (let i = 0; i < actual.length; i++) if (!Object.is(actual[i], expected[i])) return false;
  return true;
}

export function expectSame(actual: ArrayLike<number>, expected: ArrayLike<number>, what: string): void {
  if (sameValues(actual, expected)) return;
  const at = Array.from(expected).findIndex((value, i) => !Object.is(value, actual[i]));
  expect.fail(`${what}: value ${at} of ${expected.length} is ${actual[at]}, expected ${expected[at]}`);
}
