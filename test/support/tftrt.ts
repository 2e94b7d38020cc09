import * as tf from '@tensorflow/tfjs-core';
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
