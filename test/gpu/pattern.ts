// Tensors whose every value is known: a value that somebody else wrote there shows.

import * as tf from '@tensorflow/tfjs';

/** value i = ((31·i + seed) mod 4093)·factor + offset, all of them whole numbers that float32 holds. */
export interface Pattern {
  readonly size: number;
  readonly seed: number;
  readonly factor: number;
  readonly offset: number;
}

export function patternValue({ seed, factor, offset }: Pattern, i: number): number {
  return ((31 * i + seed) % 4093) * factor + offset;
}

/** The values, on the host. */
export function patternTensor(pattern: Pattern): tf.Tensor1D {
  const values = new Float32Array(pattern.size);
  for (let i = 0; i < values.length; i++) values[i] = patternValue(pattern, i);
  return tf.tensor1d(values);
}

/** x·factor + offset, by ops; disposes of x. */
export function scaled(
  x: tf.Tensor1D,
  pattern: Pattern,
  factor: number,
  offset: number,
): { x: tf.Tensor1D; pattern: Pattern } {
  const result = tf.tidy(() => tf.add<tf.Tensor1D>(tf.mul(x, factor), offset));
  x.dispose();
  return {
    x: result,
    pattern: { ...pattern, factor: pattern.factor * factor, offset: pattern.offset * factor + offset },
  };
}

/** Says what differs, if anything. */
export function patternMismatch(values: ArrayLike<number>, pattern: Pattern): string | undefined {
  const { size } = pattern;
  if (values.length !== size) return `${values.length} values, expected ${size}`;
  for (let i = 0; i < size; i++) {
    if (values[i] !== patternValue(pattern, i)) {
      return `value ${i} of ${size} is ${values[i]}, expected ${patternValue(pattern, i)}`;
    }
  }
  return undefined;
}

/** Numbers from 0 to below 1 that a seed decides (xorshift32). */
export function randomNumbers(seed: number): () => number {
  let state = seed | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
