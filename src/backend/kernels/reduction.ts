import * as k from '@tensorflow/tfjs-core';
import { util } from '@tensorflow/tfjs-core';
import { TftrtError } from '../../errors';
import { constant, custom, type DTypeRule, type FunctionRow, type KernelRow, op, scalar } from './table';

/** TensorFlow has these for numbers, not for bool. */
const NUMBERS: DTypeRule = { via: { bool: 'int32' } };
/** bool becomes int32 for good. */
const COUNTS: DTypeRule = { via: { bool: 'int32' }, result: 'computed' };
const BOOLS: DTypeRule = { via: { int32: 'bool', float32: 'bool' } };

const axes = constant((attrs, { x }) => util.parseAxisParam(attrs.axis, x.shape));
const axis = scalar((attrs, { x }) => util.parseAxisParam(attrs.axis, x.shape)[0]!);
const keepDims = { keep_dims: (attrs: { keepDims?: boolean }) => attrs.keepDims ?? false };
const scan = {
  exclusive: (attrs: { exclusive?: boolean }) => attrs.exclusive ?? false,
  reverse: (attrs: { reverse?: boolean }) => attrs.reverse ?? false,
};

/** Reductions along axes, running sums and products, counts. */
export const reductionKernels: KernelRow[] = [
  op(k.All, 'All', ['x', axes], keepDims, BOOLS),
  op(k.Any, 'Any', ['x', axes], keepDims, BOOLS),
  op(
    k.Max,
    'Max',
    ['x', constant((attrs, { x }) => util.parseAxisParam(attrs.reductionIndices, x.shape))],
    keepDims,
    NUMBERS,
  ),
  op(k.Mean, 'Mean', ['x', axes], keepDims, {
    via: { int32: 'float32', bool: 'float32' },
    result: 'computed',
  }),
  op(k.Min, 'Min', ['x', axes], keepDims, NUMBERS),
  op(k.Prod, 'Prod', ['x', axes], keepDims, COUNTS),
  op(k.Sum, 'Sum', ['x', axes], keepDims, COUNTS),

  custom(k.ArgMax, argument('ArgMax')),
  custom(k.ArgMin, argument('ArgMin')),

  op(k.Cumprod, 'Cumprod', ['x', axis], scan, COUNTS),
  op(k.Cumsum, 'Cumsum', ['x', axis], scan, COUNTS),

  op(k.Bincount, 'Bincount', ['x', scalar((attrs) => attrs.size), 'weights']),
  op(k.DenseBincount, 'DenseBincount', ['x', scalar((attrs) => attrs.size), 'weights'], {
    binary_output: (attrs) => attrs.binaryOutput ?? false,
  }),
];

/** Where along an axis the extreme is. TensorFlow's ops take up to 7 dimensions; three are enough. */
function argument(name: 'ArgMax' | 'ArgMin'): FunctionRow['run'] {
  return (call) => {
    const { x } = call.inputs;
    const axes = util.parseAxisParam(call.attrs.axis, x.shape);
    if (axes.length !== 1) {
      throw new TftrtError(
        'TFTRT_INVALID_ARGUMENT',
        `${name}: the axes are [${axes}] of the shape [${x.shape}]; expected one axis.`,
      );
    }
    const along = axes[0]!;
    const [outer, inner] = [x.shape.slice(0, along), x.shape.slice(along + 1)];
    const deep = x.shape.length > 7;
    const flat = [util.sizeFromShape(outer), x.shape[along]!, util.sizeFromShape(inner)];
    const operands = deep ? [call.reshape(x, flat), call.scalar(1)] : [x, call.scalar(along)];
    const indices = call.run(name, operands, { output_type: 'int32' });
    return call.result(indices, 'int32', [...outer, ...inner]);
  };
}
