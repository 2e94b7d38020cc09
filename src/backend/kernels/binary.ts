import * as k from '@tensorflow/tfjs-core';
import { type KernelRow, op } from './table';

/** Element by element: two operands, broadcast. */
export const binaryKernels: KernelRow[] = [
  op(k.Add, 'AddV2', ['a', 'b']),
  op(k.Maximum, 'Maximum', ['a', 'b']),
  op(k.Minimum, 'Minimum', ['a', 'b']),
  op(k.Multiply, 'Mul', ['a', 'b']),
  op(k.RealDiv, 'RealDiv', ['a', 'b']),
  op(k.Sub, 'Sub', ['a', 'b']),
];
