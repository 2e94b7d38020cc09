import type { DataType } from '@tensorflow/tfjs-core';
import * as k from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import {
  axesOf,
  axisOf,
  integer,
  oneOf,
  type Property,
  property,
  type Range,
  shape,
  tensorOf,
  tensorOfAny,
} from '../arbitraries';

const NUMBERS: readonly DataType[] = ['float32', 'int32', 'bool'];

/** `empty`: whether the reduction of no values has one answer. */
function reduction(
  kernel: string,
  { dtypes = NUMBERS, range = {} as Range, empty = false, axis = 'axis' } = {},
): Property {
  return property(
    kernel,
    shape(0, 6, { max: 3, zero: empty }).chain((dimensions) =>
      fc
        .tuple(tensorOfAny(dtypes, dimensions, range), axesOf(dimensions.length), fc.boolean())
        .map(([x, axes, keepDims]) => ({ inputs: { x }, attrs: { [axis]: axes, keepDims } })),
    ),
  );
}

function argument(kernel: string): Property {
  return property(
    kernel,
    shape(1, 5).chain((dimensions) =>
      fc
        .tuple(tensorOfAny(NUMBERS, dimensions), axisOf(dimensions.length))
        .map(([x, axis]) => ({ inputs: { x }, attrs: { axis } })),
    ),
  );
}

function scan(kernel: string, range: Range): Property {
  return property(
    kernel,
    shape(1, 4, { max: 3 }).chain((dimensions) =>
      fc
        .tuple(
          tensorOfAny(NUMBERS, dimensions, range),
          integer(0, dimensions.length - 1),
          fc.boolean(),
          fc.boolean(),
        )
        .map(([x, axis, exclusive, reverse]) => ({ inputs: { x }, attrs: { axis, exclusive, reverse } })),
    ),
  );
}

function counts(kernel: string, rank: 1 | 2, attrs: fc.Arbitrary<object>): Property {
  const cases = fc.tuple(shape(rank, rank), oneOf<DataType>('float32', 'int32'), fc.boolean(), integer(1, 6));
  return property(
    kernel,
    cases.chain(([dimensions, dtype, weighted, size]) =>
      fc
        .tuple(
          tensorOf('int32', dimensions, { min: 0, max: 8 }),
          tensorOf(dtype, weighted ? dimensions : [0]),
          attrs,
        )
        .map(([x, weights, others]) => ({ inputs: { x, weights }, attrs: { size, ...others } })),
    ),
  );
}

const small: Range = { min: -3, max: 3 };

export const reductionProperties: Property[] = [
  reduction(k.All, { dtypes: ['bool'], empty: false }),
  reduction(k.Any, { dtypes: ['bool'] }),
  reduction(k.Max, { range: { special: false }, axis: 'reductionIndices' }),
  reduction(k.Mean),
  reduction(k.Min),
  reduction(k.Prod, { range: { min: -2, max: 2 }, empty: true }),
  reduction(k.Sum, { empty: true }),
  argument(k.ArgMax),
  argument(k.ArgMin),
  scan(k.Cumprod, small),
  scan(k.Cumsum, small),
  counts(k.Bincount, 1, fc.constant({})),
  counts(k.DenseBincount, 1, fc.constant({ binaryOutput: false })),
  counts(k.DenseBincount, 2, fc.record({ binaryOutput: fc.boolean() })),
];
