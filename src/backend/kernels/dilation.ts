import * as k from '@tensorflow/tfjs-core';
import { perAxis } from './geometry';
import { type Attrs, type KernelRow, op } from './table';

const attributes = {
  strides: ({ strides }: Attrs) => spread(strides),
  rates: ({ dilations }: Attrs) => spread(dilations),
  padding: ({ pad }: Attrs) => pad.toUpperCase(),
};

/** Greyscale dilation, a morphological operation, and its gradients. */
export const dilationKernels: KernelRow[] = [
  op(k.Dilation2D, 'Dilation2D', ['x', 'filter'], attributes),
  op(k.Dilation2DBackpropFilter, 'Dilation2DBackpropFilter', ['x', 'filter', 'dy'], attributes),
  op(k.Dilation2DBackpropInput, 'Dilation2DBackpropInput', ['x', 'filter', 'dy'], attributes),
];

function spread(values: number | number[]): number[] {
  return [1, ...perAxis(values, 2), 1];
}
