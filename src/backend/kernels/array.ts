import * as k from '@tensorflow/tfjs-core';
import { util } from '@tensorflow/tfjs-core';
import { custom, type KernelRow } from './table';

/** Kernels that only rename or relabel their input: they share its data. */
export const aliasKernels: KernelRow[] = [
  custom(k.Identity, ({ inputs: { x }, backend }) => backend.alias(x, x.shape)),
  custom(k.Reshape, ({ inputs: { x }, attrs, backend }) => {
    const size = util.sizeFromShape(x.shape);
    const shape = util.inferFromImplicitShape(attrs.shape, size);
    util.assert(
      size === util.sizeFromShape(shape),
      () =>
        `The new shape (${shape}) has ${util.sizeFromShape(shape)} elements and the old shape (${x.shape}) has ${size} elements. ` +
        'The new shape and old shape must have the same number of elements.',
    );
    return backend.alias(x, shape);
  }),
];
