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
  custom(k.ExpandDims, ({ inputs: { input }, attrs: { dim }, backend }) => {
    const { shape } = input;
    util.assert(
      -(shape.length + 1) <= dim && dim <= shape.length,
      () => `Axis must be in the interval [${-(shape.length + 1)}, ${shape.length}]`,
    );
    const axis = dim < 0 ? shape.length + dim + 1 : dim;
    return backend.alias(input, [...shape.slice(0, axis), 1, ...shape.slice(axis)]);
  }),
  /** To the same dtype, an alias as well. A complex number's real part is what is left of it in other dtypes. */
  custom(k.Cast, (call) => {
    const { x } = call.inputs;
    const { dtype } = call.attrs;
    if (x.dtype === dtype) return call.backend.alias(x, x.shape);
    return call.result(call.cast(x.dtype === 'complex64' ? call.run('Real', [x]) : x, dtype));
  }),
];
