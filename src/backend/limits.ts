import { TftrtError } from '../errors';

/** The largest size of a dimension, and the largest integer that TensorFlow's ops take for one here. */
export const MAX_INT32 = 2 ** 31 - 1;

/** The error for sizes above it. */
export function sizeError(what: string): TftrtError {
  return new TftrtError(
    'TFTRT_OUT_OF_RANGE',
    `${what} has a number above ${MAX_INT32}, the largest that is supported. Use smaller tensors.`,
  );
}
