import type { DataType } from '@tensorflow/tfjs-core';
import * as k from '@tensorflow/tfjs-core';
import type fc from 'fast-check';
import { integer, type Property, property, type Range, record, shape, tensorOfAny } from '../arbitraries';

const NUMBERS: readonly DataType[] = ['float32', 'int32', 'bool'];

function unary(
  kernel: string,
  range: Range,
  attrs: fc.Arbitrary<object> = record({}),
  dtypes = NUMBERS,
  tolerance?: number,
): Property {
  const cases = shape(0, 6, { max: 3, zero: true })
    .chain((dimensions) => tensorOfAny(dtypes, dimensions, range))
    .chain((x) => attrs.map((values) => ({ inputs: { x }, attrs: values })));
  return property(kernel, cases, tolerance);
}

const anything: Range = { special: true };
/** Where a function is not finite, int32 has no right answer: JavaScript gives 0, TensorFlow the lowest number. */
const positive: Range = { min: 0.5, max: 10 };
const unit: Range = { min: -1, max: 1 };
const alpha = record({ alpha: integer(-4, 4).map((n) => n / 4) });

export const unaryProperties: Property[] = [
  unary(k.Abs, anything),
  unary(k.Acos, unit),
  unary(k.Acosh, { min: 1, max: 10 }, undefined, ['float32', 'int32']),
  unary(k.Asin, unit),
  unary(k.Asinh, {}),
  unary(k.Atan, {}),
  unary(k.Atanh, { min: -0.9, max: 0.9 }, undefined, ['float32', 'int32']),
  unary(k.Ceil, { ...anything, min: -1e6, max: 1e6 }, undefined, ['float32']),
  unary(k.Ceil, { min: -(2 ** 31), max: 2 ** 31 - 1 }, undefined, ['int32', 'bool']),
  unary(k.Cos, {}),
  unary(k.Cosh, {}),
  unary(k.Elu, {}),
  unary(k.Erf, {}),
  unary(k.Exp, {}),
  unary(k.Expm1, {}),
  unary(k.Floor, { min: -(2 ** 31), max: 2 ** 31 - 1 }, undefined, ['int32', 'bool']),
  unary(k.Floor, anything, undefined, ['float32']),
  unary(k.IsFinite, anything),
  unary(k.IsInf, anything),
  unary(k.IsNan, anything),
  unary(k.LeakyRelu, {}, alpha),
  unary(k.Log, positive, undefined, ['float32', 'int32']),
  unary(k.Log1p, positive),
  unary(k.LogicalNot, {}),
  unary(k.Neg, anything),
  unary(k.Reciprocal, positive, undefined, ['float32', 'int32']),
  unary(k.Relu, anything),
  unary(k.Relu6, anything),
  unary(k.Round, { min: -(2 ** 31), max: 2 ** 31 - 1 }, undefined, ['int32', 'bool']),
  unary(k.Round, anything, undefined, ['float32']),
  unary(k.Rsqrt, positive, undefined, ['float32', 'int32']),
  unary(k.Selu, {}),
  unary(k.Sigmoid, {}),
  unary(k.Sign, anything),
  unary(k.Sin, {}),
  unary(k.Sinh, {}),
  unary(k.Softplus, {}),
  unary(k.Sqrt, { min: 0, max: 1e6 }),
  // tfjs-backend-cpu squares integers as floats.
  unary(k.Square, { min: -4000, max: 4000 }),
  unary(k.Step, anything, alpha),
  unary(k.Tan, { min: -1.5, max: 1.5 }),
  unary(k.Tanh, {}),
  unary(
    k.ClipByValue,
    anything,
    record({
      clipValueMin: integer(-12, 0).map((n) => n / 4),
      clipValueMax: integer(0, 12).map((n) => n / 4),
    }),
  ),
];
