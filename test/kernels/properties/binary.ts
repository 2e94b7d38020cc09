import type { DataType } from '@tensorflow/tfjs-core';
import * as k from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import {
  broadcastable,
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

function binary(
  kernel: string,
  range: Range,
  dtypes = NUMBERS,
  second = range,
  names = ['a', 'b'],
): Property {
  const cases = fc
    .tuple(broadcastable(), oneOf(...dtypes))
    .chain(([[left, right], dtype]) =>
      fc
        .tuple(tensorOfAny([dtype], left, range), tensorOfAny([dtype], right, second))
        .map(([a, b]) => ({ inputs: { [names[0]!]: a, [names[1]!]: b } })),
    );
  return property(kernel, cases);
}

/** tfjs-backend-cpu broadcasts complex numbers wrongly, so theirs are of one shape. */
function complex(kernel: string, second: Range = {}): Property {
  return property(
    kernel,
    shape(0, 3).chain((dimensions) =>
      fc
        .tuple(tensorOf('complex64', dimensions), tensorOf('complex64', dimensions, second))
        .map(([a, b]) => ({ inputs: { a, b } })),
    ),
  );
}

const anything: Range = { special: true };
const positive: Range = { min: 1, max: 20 };
/** Products of two are exact in doubles, in which JavaScript computes, and wrap around. */
const large: Range = { min: -(2 ** 26), max: 2 ** 26 };

export const binaryProperties: Property[] = [
  binary(k.Add, anything),
  binary(k.Add, { min: -(2 ** 31), max: 2 ** 31 - 1 }, ['int32']),
  complex(k.Add),
  binary(k.Atan2, {}, ['float32', 'int32']),
  binary(k.BitwiseAnd, { min: -(2 ** 31), max: 2 ** 31 - 1 }, ['int32']),
  binary(k.Equal, anything, [...NUMBERS, 'string']),
  binary(k.FloorDiv, { min: -100, max: 100 }, ['float32', 'int32'], { min: 1, max: 9 }),
  binary(k.FloorDiv, { min: -100, max: 100 }, ['float32', 'int32'], { min: -9, max: -1 }),
  binary(k.Greater, anything),
  binary(k.GreaterEqual, anything),
  binary(k.Less, anything),
  binary(k.LessEqual, anything),
  binary(k.LogicalAnd, {}, ['bool']),
  binary(k.LogicalOr, {}, ['bool']),
  binary(k.Maximum, anything),
  binary(k.Minimum, anything),
  binary(k.Mod, { min: -100, max: 100 }, ['float32', 'int32'], { min: 1, max: 9 }),
  binary(k.Mod, { min: -100, max: 100 }, ['float32', 'int32'], { min: -9, max: -1 }),
  binary(k.Multiply, anything),
  binary(k.Multiply, large, ['int32']),
  complex(k.Multiply),
  binary(k.NotEqual, anything, [...NUMBERS, 'string']),
  binary(k.Pow, { min: -3, max: 3 }, ['int32', 'bool'], { min: 0, max: 5 }),
  binary(k.Pow, { min: 1, max: 9 }, ['float32', 'int32'], { min: -4, max: 4 }),
  binary(k.Prelu, anything, ['float32', 'int32'], {}, ['x', 'alpha']),
  binary(k.RealDiv, {}, ['float32', 'int32'], positive),
  binary(k.SquaredDifference, {}),
  binary(k.Sub, anything, ['float32', 'int32']),
  complex(k.Sub),
  property(
    k.AddN,
    fc
      .tuple(shape(0, 4), oneOf<DataType>('float32', 'int32'), integer(1, 5))
      .chain(([dimensions, dtype, count]) =>
        fc
          .array(tensorOf(dtype, dimensions), { minLength: count, maxLength: count })
          .map((inputs) => ({ inputs })),
      ),
  ),
  property(
    k.Select,
    fc
      .tuple(shape(0, 4, { zero: true }), oneOf<DataType>('float32', 'int32', 'bool'))
      .chain(([dimensions, dtype]) =>
        fc
          .tuple(
            tensorOf('bool', dimensions),
            tensorOfAny([dtype], dimensions),
            tensorOfAny([dtype], dimensions),
          )
          .map(([condition, t, e]) => ({ inputs: { condition, t, e } })),
      ),
  ),
  property(
    k.EluGrad,
    fc
      .tuple(shape(0, 4), oneOf(...NUMBERS))
      .chain(([dimensions, dtype]) =>
        fc
          .tuple(tensorOf(dtype, dimensions), tensorOf(dtype, dimensions))
          .map(([dy, y]) => ({ inputs: { dy, y } })),
      ),
  ),
];
