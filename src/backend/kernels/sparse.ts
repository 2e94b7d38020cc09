import * as k from '@tensorflow/tfjs-core';
import { custom, type KernelRow, op } from './table';

/** Sparse tensors: indices, values and a shape. TensorFlow's have int64 indices. */
export const sparseKernels: KernelRow[] = [
  custom(k.SparseFillEmptyRows, (call) => {
    const { indices, values, denseShape, defaultValue } = call.inputs;
    return call
      .runAll('SparseFillEmptyRows', [
        call.cast(indices, 'int64'),
        values,
        call.cast(denseShape, 'int64'),
        defaultValue,
      ])
      .map((output) => call.result(output));
  }),
  custom(k.SparseReshape, (call) => {
    const { inputIndices, inputShape, newShape } = call.inputs;
    return call
      .runAll(
        'SparseReshape',
        [inputIndices, inputShape, newShape].map((input) => call.cast(input, 'int64')),
      )
      .map((output) => call.result(output));
  }),
  custom(k.SparseSegmentMean, (call) => {
    const { data, indices, segmentIds } = call.inputs;
    const floats = call.cast(data, data.dtype === 'int32' ? 'float64' : data.dtype);
    return call.result(call.run('SparseSegmentMean', [floats, indices, segmentIds]), data.dtype);
  }),
  op(k.SparseSegmentSum, 'SparseSegmentSum', ['data', 'indices', 'segmentIds']),
  custom(k.SparseToDense, (call) => {
    const { sparseIndices, sparseValues, defaultValue } = call.inputs;
    return call.result(
      call.run(
        'SparseToDense',
        [sparseIndices, call.constant(call.attrs.outputShape), sparseValues, defaultValue],
        // tfjs takes indices in any order.
        { validate_indices: false },
      ),
    );
  }),
];
