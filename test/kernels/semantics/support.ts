// For tests of what kernels mean where TensorFlow and tfjs may differ, and where other backends are known to be wrong: small inputs with
// answers worked out by hand or by Python's TensorFlow.

import * as tf from '@tensorflow/tfjs';
import { assertOutputs, type InputSpecs, type Output, runKernel } from '../harness';

/** Fails unless the tensor has this shape and dtype, and these values up to rounding. */
export function is(x: tf.Tensor, shape: number[], values: number[], dtype: tf.DataType = 'float32'): void {
  const got: Output = { dtype: x.dtype, shape: x.shape, values: Array.from(x.dataSync()) };
  assertOutputs([got], [{ dtype, shape, values }], 1e-6);
}

/** The same for a kernel called with inputs that tfjs's own ops would not let through. */
export function kernelIs(kernel: string, inputs: InputSpecs, attrs: object, ...expected: Output[]): void {
  assertOutputs(runKernel('tftrt', kernel, { inputs, attrs }), expected, 1e-6);
}

/** A test whose tensors are disposed of. */
export const test = (title: string, body: () => void) => it(title, () => tf.tidy(body));

/** One image with one channel. */
export function image(rows: number[][]): tf.Tensor4D {
  return tf.tensor4d(rows.flat(), [1, rows.length, rows[0]!.length, 1]);
}

/** A tensor of ones. */
export function ones(...shape: [number, number, number, number]): tf.Tensor4D {
  return tf.ones(shape);
}

/** The gradient of a function of one tensor. */
export function gradient(f: (x: tf.Tensor4D) => tf.Tensor, x: tf.Tensor4D): tf.Tensor {
  return tf.grad(f as (x: tf.Tensor) => tf.Tensor)(x);
}
