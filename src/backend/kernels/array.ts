import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as k from '@tensorflow/tfjs-core';
import { backend_util, slice_util, util } from '@tensorflow/tfjs-core';
import type { CallOperand, KernelCall, Value } from './call';
import { allInputs, constant, custom, type DTypeRule, type KernelRow, op, pairs } from './table';

const listOf = {
  N: (_: unknown, inputs: TensorInfo[]) => inputs.length,
  T: (_: unknown, inputs: TensorInfo[]) => inputs[0]!.dtype,
};
const axisOf = (axis: number, shape: number[]) => util.parseAxisParam(axis, shape)[0]!;

/** TensorFlow has these for numbers, not for bool. */
const NUMBERS: DTypeRule = { via: { bool: 'int32' } };

/** Kernels that cut, join, pad, repeat and reorder. */
export const arrayKernels: KernelRow[] = [
  op(
    k.BatchToSpaceND,
    'BatchToSpaceND',
    ['x', constant((attrs) => attrs.blockShape), pairs((attrs) => attrs.crops)],
    {},
    NUMBERS,
  ),
  op(k.BroadcastArgs, 'BroadcastArgs', ['s0', 's1']),
  op(k.Pack, 'Pack', [allInputs], { ...listOf, axis: (attrs) => attrs.axis }),
  op(
    k.SpaceToBatchND,
    'SpaceToBatchND',
    ['x', constant((attrs) => attrs.blockShape), pairs((attrs) => attrs.paddings)],
    {},
    NUMBERS,
  ),
  op(k.Tile, 'Tile', ['x', constant((attrs) => attrs.reps)]),
  op(k.Transpose, 'Transpose', ['x', constant((attrs) => attrs.perm)]),
  op(k.Unpack, 'Unpack', ['value'], { num: unpacked, axis: (attrs) => attrs.axis }, { outputs: unpacked }),

  custom(k.Concat, (call) => {
    const tensors: TensorInfo[] = call.inputs;
    const axis = axisOf(call.attrs.axis, tensors[0]!.shape);
    const { dtype } = tensors[0]!;
    backend_util.assertParamsConsistent(
      tensors.map(({ shape }) => shape),
      axis,
    );
    if (tensors.length === 1) return call.result(tensors[0]!);
    const operands = tensors.map((tensor) => call.cast(tensor, dtype));
    return call.result(
      call.run('ConcatV2', [...operands, call.scalar(axis)], { N: tensors.length, T: dtype, Tidx: 'int32' }),
    );
  }),
  custom(k.MirrorPad, (call) => {
    const mode = call.attrs.mode.toUpperCase();
    return call.result(padded(call, 5, (x, paddings) => call.run('MirrorPad', [x, paddings], { mode })));
  }),
  custom(k.PadV2, (call) => {
    const { dtype } = call.inputs.x;
    const { constantValue } = call.attrs;
    const value =
      dtype === 'string' ? call.string(String(constantValue ?? '')) : call.scalar(constantValue ?? 0, dtype);
    return call.result(padded(call, 6, (x, paddings) => call.run('PadV2', [x, paddings, value])));
  }),
  custom(k.Reverse, (call) => {
    const { x } = call.inputs;
    if (x.shape.length === 0) return call.result(x);
    const axes = call.constant(util.parseAxisParam(call.attrs.dims, x.shape));
    return call.result(call.run('ReverseV2', [x, axes]));
  }),
  custom(k.Slice, (call) => {
    const { x } = call.inputs;
    const [begin, size] = slice_util.parseSliceParams(x, call.attrs.begin, call.attrs.size);
    slice_util.assertParamsValid(x, begin, size);
    return call.result(call.run('Slice', [x, call.constant(begin), call.constant(size)]));
  }),
  custom(k.StridedSlice, (call) => {
    const { x } = call.inputs;
    const { begin, end, strides, beginMask, endMask, ellipsisMask, newAxisMask, shrinkAxisMask } = call.attrs;
    const bounds = [begin, end, strides ?? begin.map(() => 1)].map((values) => call.constant(values));
    return call.result(
      call.run('StridedSlice', [x, ...bounds], {
        begin_mask: beginMask ?? 0,
        end_mask: endMask ?? 0,
        ellipsis_mask: ellipsisMask ?? 0,
        new_axis_mask: newAxisMask ?? 0,
        shrink_axis_mask: shrinkAxisMask ?? 0,
      }),
    );
  }),
  custom(k.SplitV, (call) => {
    const { x } = call.inputs;
    const axis = axisOf(call.attrs.axis, x.shape);
    const sizes = backend_util.prepareSplitSize(x, call.attrs.numOrSizeSplits, axis);
    return call
      .runAll(
        'SplitV',
        [x, call.constant(sizes), call.scalar(axis)],
        { num_split: sizes.length },
        sizes.length,
      )
      .map((part) => call.result(part));
  }),
  custom(k.DepthToSpace, (call) => {
    const { x } = call.inputs;
    const { blockSize, dataFormat } = call.attrs;
    const transposed = dataFormat === 'NCHW';
    const y = call.run('DepthToSpace', [transposed ? call.transpose(x, [0, 2, 3, 1]) : x], {
      block_size: blockSize,
    });
    return call.result(transposed ? call.transpose(y, [0, 3, 1, 2]) : y);
  }),
];

function unpacked(attrs: { axis: number }, { value }: { value: TensorInfo }): number {
  return value.shape[axisOf(attrs.axis, value.shape)]!;
}

/** The input padded by an op that takes tensors up to a rank; where there are more axes, they are padded one after another. */
function padded(
  call: KernelCall,
  maxRank: number,
  pad: (x: CallOperand, paddings: Value) => Value,
): CallOperand {
  const paddings: number[][] = call.attrs.paddings;
  const x: TensorInfo = call.inputs.x;
  const pairsOf = (list: number[][]) => call.constant(list.flat(), 'int32', [list.length, 2]);
  if (x.shape.length <= maxRank) return pad(x, pairsOf(paddings));
  return paddings.reduce<CallOperand>((result, sides, axis) => {
    if (sides[0] === 0 && sides[1] === 0) return result;
    const { shape } = result;
    const [outer, inner] = [shape.slice(0, axis), shape.slice(axis + 1)];
    const flat = [util.sizeFromShape(outer), shape[axis]!, util.sizeFromShape(inner)];
    const y = pad(call.reshape(result, flat), pairsOf([[0, 0], sides, [0, 0]]));
    return call.reshape(y, [...outer, y.shape[1]!, ...inner]);
  }, x);
}
