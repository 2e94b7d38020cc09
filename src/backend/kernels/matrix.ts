import * as k from '@tensorflow/tfjs-core';
import { backend_util, type TensorInfo, util } from '@tensorflow/tfjs-core';
import type { CallOperand, KernelCall } from './call';
import { custom, type KernelRow, op } from './table';

const LONG_VECTOR = 2 ** 18;

/** Matrix products and diagonals. */
export const matrixKernels: KernelRow[] = [
  custom(k.BatchMatMul, (call) => {
    const { a, b } = call.inputs;
    const { transposeA, transposeB } = call.attrs;
    return call.result(matMul(call, a, b, transposeA, transposeB), a.dtype);
  }),
  op(k.Diag, 'Diag', ['x'], {}, { via: { bool: 'int32' } }),
  custom(k.Einsum, (call) => {
    const tensors: TensorInfo[] = call.inputs;
    const { equation } = call.attrs;
    // These throw tfjs's errors for what tfjs does not allow.
    const { allDims, idDims } = backend_util.decodeEinsumEquation(equation, tensors.length);
    backend_util.checkEinsumDimSizes(allDims.length, idDims, tensors as never);
    const { dtype } = tensors[0]!;
    const computed = dtype === 'bool' ? 'int32' : dtype;
    const operands = tensors.map((tensor) => call.cast(tensor, computed));
    return call.result(
      call.run('Einsum', operands, {
        equation: equation.replaceAll(' ', ''),
        N: tensors.length,
        T: computed,
      }),
      dtype,
    );
  }),
];

/** A product of (batches of) matrices; the batch dimensions are broadcast. */
export function matMul(
  call: KernelCall,
  a: TensorInfo,
  b: TensorInfo,
  transposeA = false,
  transposeB = false,
): CallOperand {
  const x = call.cast(a, a.dtype === 'bool' ? 'int32' : a.dtype);
  const y = call.cast(b, b.dtype === 'bool' ? 'int32' : b.dtype);
  if (a.shape.length === 2 && b.shape.length === 2 && !isLongDot(call, a, b)) {
    return call.run('MatMul', [x, y], { transpose_a: transposeA, transpose_b: transposeB });
  }
  if (a.dtype === 'complex64') {
    // `adj_x` would conjugate as well.
    return call.run('BatchMatMulV2', [
      transposeA ? swapLastAxes(call, x) : x,
      transposeB ? swapLastAxes(call, y) : y,
    ]);
  }
  return call.run('BatchMatMulV2', [x, y], { adj_x: transposeA, adj_y: transposeB });
}

/** A product of vectors so long that TensorFlow's MatMul, which reorders one of them first, takes longer than its op for batches. */
function isLongDot({ onGpu }: KernelCall, a: TensorInfo, b: TensorInfo): boolean {
  const size = util.sizeFromShape(a.shape);
  return (
    !onGpu &&
    size >= LONG_VECTOR &&
    a.shape.includes(1) &&
    b.shape.includes(1) &&
    util.sizeFromShape(b.shape) === size
  );
}

function swapLastAxes(call: KernelCall, x: CallOperand): CallOperand {
  const axes = x.shape.map((_, axis) => axis);
  const last = axes.length - 1;
  axes[last] = last - 1;
  axes[last - 1] = last;
  return call.transpose(x, axes);
}
