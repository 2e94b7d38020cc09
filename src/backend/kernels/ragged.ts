import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as k from '@tensorflow/tfjs-core';
import { custom, type KernelRow, op } from './table';

/** Ragged tensors: values and the places where rows end. */
export const raggedKernels: KernelRow[] = [
  custom(k.RaggedGather, (call) => {
    const { paramsDenseValues, indices } = call.inputs;
    const splits: TensorInfo[] = call.inputs.paramsNestedSplits;
    const { outputRaggedRank } = call.attrs;
    return call
      .runAll(
        'RaggedGather',
        [...splits, paramsDenseValues, indices],
        {
          Tvalues: paramsDenseValues.dtype,
          Tindices: indices.dtype,
          Tsplits: 'int32',
          PARAMS_RAGGED_RANK: splits.length,
          OUTPUT_RAGGED_RANK: outputRaggedRank,
        },
        outputRaggedRank + 1,
      )
      .map((output) => call.result(output));
  }),
  op(
    k.RaggedRange,
    'RaggedRange',
    ['starts', 'limits', 'deltas'],
    { Tsplits: () => 'int32' },
    { outputs: () => 2 },
  ),
  custom(k.RaggedTensorToTensor, (call) => {
    const { shape, values, defaultValue } = call.inputs;
    const partitions: TensorInfo[] = call.inputs.rowPartitionTensors;
    return call.result(
      call.run('RaggedTensorToTensor', [shape, values, defaultValue, ...partitions], {
        T: values.dtype,
        Tindex: 'int32',
        Tshape: shape.dtype,
        num_row_partition_tensors: partitions.length,
        row_partition_types: call.attrs.rowPartitionTypes,
      }),
    );
  }),
];
