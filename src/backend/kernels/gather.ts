import * as k from '@tensorflow/tfjs-core';
import { backend_util, type TensorInfo, util } from '@tensorflow/tfjs-core';
import { TftrtError } from '../../errors';
import type { CallOperand, KernelCall } from './call';
import { custom, type KernelRow, op, scalar } from './table';

/** Kernels that read or write at indices, and searches. */
export const gatherKernels: KernelRow[] = [
  op(k.GatherNd, 'GatherNd', ['params', 'indices']),
  op(
    k.UnsortedSegmentSum,
    'UnsortedSegmentSum',
    ['x', 'segmentIds', scalar((attrs) => attrs.numSegments)],
    {},
    { via: { bool: 'int32' }, result: 'computed' },
  ),

  custom(k.TopK, (call) => {
    const { x } = call.inputs;
    const { k: count, sorted = true } = call.attrs;
    const numbers = x.dtype === 'bool' ? call.cast(x, 'int32') : x;
    const [values, indices] = call.runAll('TopKV2', [numbers, call.scalar(count)], { sorted });
    return [call.result(values!, x.dtype), call.result(indices!)];
  }),
  custom(k.GatherV2, (call) => {
    const { x, indices } = call.inputs;
    const { batchDims = 0 } = call.attrs;
    const axis = util.parseAxisParam(call.attrs.axis, x.shape)[0]!;
    backend_util.segment_util.collectGatherOpShapeInfo(x, indices, axis, batchDims);
    checkHostIndices(call, indices, x.shape[axis]!);
    return call.result(
      call.run('GatherV2', [x, call.cast(indices, 'int32'), call.scalar(axis)], { batch_dims: batchDims }),
    );
  }),
  custom(k.ScatterNd, (call) => {
    const { indices, updates } = call.inputs;
    return call.result(
      call.run('ScatterNd', [asIndexTuples(call, indices), updates, call.constant(call.attrs.shape)]),
    );
  }),
  custom(k.TensorScatterUpdate, (call) => {
    const { tensor, indices, updates } = call.inputs;
    return call.result(call.run('TensorScatterUpdate', [tensor, asIndexTuples(call, indices), updates]));
  }),
  /** All NaNs are one, and -0 is 0. TensorFlow holds each NaN to be different, so it gets the bits to compare. */
  custom(k.Unique, (call) => {
    const { x } = call.inputs;
    const axes = call.constant(util.parseAxisParam(call.attrs.axis ?? 0, x.shape));
    if (x.dtype !== 'float32') {
      return call.runAll('UniqueV2', [x, axes]).map((output) => call.result(output));
    }
    const nan = call.scalar(Number.NaN, 'float32');
    const positive = call.run('AddV2', [x, call.scalar(0, 'float32')]);
    const bits = call.run('Bitcast', [call.select(call.run('IsNan', [x]), nan, positive)], {
      type: 'int32',
    });
    const [unique, indices] = call.runAll('UniqueV2', [bits, axes]);
    return [call.result(call.run('Bitcast', [unique!], { type: 'float32' })), call.result(indices!)];
  }),
  custom(k.SearchSorted, (call) => {
    const { sortedSequence, values } = call.inputs;
    const name = call.attrs.side === 'left' ? 'LowerBound' : 'UpperBound';
    const operands = [sortedSequence, values].map((operand) =>
      operand.dtype === 'bool' ? call.cast(operand, 'int32') : operand,
    );
    return call.result(call.run(name, operands));
  }),
];

/** tfjs takes a list of indices for a list of tuples of one index each. */
function asIndexTuples(call: KernelCall, indices: TensorInfo): CallOperand {
  return indices.shape.length === 1 ? call.reshape(indices, [indices.shape[0]!, 1]) : indices;
}

/** Indices that are still on the host are checked there: TensorFlow's GPU kernels do not complain, they return zeros. */
function checkHostIndices(call: KernelCall, indices: TensorInfo, size: number): void {
  const { values } = call.backend.data(indices.dataId);
  if (values === null) return;
  for (const index of values as Int32Array) {
    if (index < 0 || index >= size) {
      throw new TftrtError(
        'TFTRT_INVALID_ARGUMENT',
        `GatherV2: the index value ${index} is not in [0, ${size - 1}]`,
      );
    }
  }
}
