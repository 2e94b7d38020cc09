import * as k from '@tensorflow/tfjs-core';
import { float, type KernelRow, op } from './table';

/** Element by element: one operand, the same shape. */
export const unaryKernels: KernelRow[] = [
  op(k.Abs, 'Abs', ['x']),
  op(k.Exp, 'Exp', ['x']),
  op(k.LeakyRelu, 'LeakyRelu', ['x'], { alpha: float((attrs) => attrs.alpha) }),
  op(k.Relu, 'Relu', ['x']),
  op(k.Relu6, 'Relu6', ['x']),
  op(k.Sigmoid, 'Sigmoid', ['x']),
  op(k.Tanh, 'Tanh', ['x']),
];
