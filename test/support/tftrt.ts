import * as tf from '@tensorflow/tfjs-core';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';

/** Makes `tftrt` the active backend for a suite, and puts the one before back afterwards. */
export function onTftrt(): void {
  let before_: string | undefined;
  before(async () => {
    before_ = tf.getBackend();
    await tf.setBackend('tftrt');
  });
  after(async () => {
    if (before_) await tf.setBackend(before_);
  });
}

/** What must be back to where it was after a balanced piece of work. */
export interface Live {
  readonly tensors: number;
  readonly dataIds: number;
  readonly nativeTensors: number;
  readonly programs: number;
  readonly callables: number;
}

/** The live objects of tfjs and of the addon. */
export function live(): Live {
  const { tensors: nativeTensors, programs, callables } = tftrt.stats();
  return {
    tensors: tf.memory().numTensors,
    dataIds: tf.engine().backend.numDataIds(),
    nativeTensors,
    programs,
    callables,
  };
}

/** Checks that figures come to what they were: threads may still hold what they just used, and CUDA graphs be under way. */
export async function expectBack<Figures>(
  figures: () => Figures,
  before: Figures,
  what: string,
): Promise<void> {
  const end = performance.now() + 10_000;
  while (JSON.stringify(figures()) !== JSON.stringify(before) && performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  expect(figures(), what).to.deep.equal(before);
}

/** Predicts until what serves stays: on a GPU, a graph becomes a CUDA graph in the background, or does not. */
export async function settle(predict: () => Promise<unknown>): Promise<void> {
  await predict();
  if (!tftrt.stats().device.includes('GPU')) return;
  const decided = () => {
    const { tiers, notCaptured } = tftrt.stats();
    return JSON.stringify([tiers.cudaGraphs, notCaptured]);
  };
  const before_ = decided();
  const end = performance.now() + 60_000;
  while (decided() === before_ && performance.now() < end) {
    await predict();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await new Promise((resolve) => setTimeout(resolve, 100)); // threads still hold the samples
}

/** Runs `work` and returns the error that it throws or rejects with. */
export async function errorOf(work: () => unknown): Promise<Error & { code?: string }> {
  try {
    await work();
  } catch (error) {
    return error as Error & { code?: string };
  }
  throw new Error('expected an error, but there was none');
}

/** As `errorOf`, and checks that nothing is left of the failed attempt. */
export async function cleanErrorOf(work: () => unknown): Promise<Error & { code?: string }> {
  const before_ = live();
  const error = await errorOf(work);
  const after_ = live();
  if (JSON.stringify(after_) !== JSON.stringify(before_)) {
    throw new Error(`a failure left something: ${JSON.stringify(before_)} became ${JSON.stringify(after_)}`);
  }
  return error;
}
