import type { DataType } from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import type { KernelCase, TensorSpec } from './harness';

/** A kernel, calls of it, and how near the results of two backends have to be. */
export interface Property {
  readonly kernel: string;
  readonly cases: fc.Arbitrary<KernelCase>;
  readonly tolerance?: number;
}

/** Values that a tensor may have. */
export interface Range {
  readonly min?: number;
  readonly max?: number;
  /** Whether NaN, infinities and -0 occur. */
  readonly special?: boolean;
}

export const property = (kernel: string, cases: fc.Arbitrary<KernelCase>, tolerance?: number): Property => ({
  kernel,
  cases,
  ...(tolerance === undefined ? {} : { tolerance }),
});

export const integer = (min: number, max: number) => fc.integer({ min, max });
export const oneOf = fc.constantFrom;

/** A shape; `zero` lets dimensions be empty. */
export function shape(
  minRank: number,
  maxRank: number,
  { max = 4, zero = false } = {},
): fc.Arbitrary<number[]> {
  return fc.array(
    zero ? fc.oneof({ weight: 9, arbitrary: integer(1, max) }, fc.constant(0)) : integer(1, max),
    {
      minLength: minRank,
      maxLength: maxRank,
    },
  );
}

export const size = (dimensions: readonly number[]) => dimensions.reduce((product, n) => product * n, 1);

/** Values of a dtype. */
export function value(
  dtype: DataType,
  { min = -10, max = 10, special = false }: Range = {},
): fc.Arbitrary<number> {
  if (dtype === 'bool') return integer(0, 1);
  const [low, high] = [Math.ceil(min), Math.floor(max)];
  if (dtype === 'int32') return integer(low, high);
  // Fractions in steps of 1/64: sums and products of a few are exact in float32.
  const fraction = integer(Math.ceil(min * 64), Math.floor(max * 64)).map((n) => n / 64);
  return special
    ? fc.oneof({ weight: 12, arbitrary: fraction }, oneOf(Number.NaN, Infinity, -Infinity, -0))
    : fraction;
}

/** A tensor of a given shape. */
export function tensorOf(dtype: DataType, dimensions: number[], range?: Range): fc.Arbitrary<TensorSpec> {
  const count = size(dimensions) * (dtype === 'complex64' ? 2 : 1);
  return fc
    .array(value(dtype, range), { minLength: count, maxLength: count })
    .map((values) => ({ dtype, shape: dimensions, values }));
}

/** A tensor of string values. */
export function stringsOf(
  dimensions: number[],
  alphabet: readonly string[] = ['a', 'b', 'żó', ''],
): fc.Arbitrary<TensorSpec> {
  const count = size(dimensions);
  return fc
    .array(oneOf(...alphabet), { minLength: count, maxLength: count })
    .map((values) => ({ dtype: 'string', shape: dimensions, values }));
}

/** A tensor of any dtype out of these. */
export function tensorOfAny(
  dtypes: readonly DataType[],
  dimensions: number[],
  range?: Range,
): fc.Arbitrary<TensorSpec> {
  return oneOf(...dtypes).chain((dtype) =>
    dtype === 'string' ? stringsOf(dimensions) : tensorOf(dtype, dimensions, range),
  );
}

/** Two shapes that can be broadcast together. */
export function broadcastable(maxRank = 4): fc.Arbitrary<[number[], number[]]> {
  return shape(0, maxRank, { max: 3 }).chain((whole) => {
    const part = fc
      .tuple(
        integer(0, whole.length),
        fc.array(fc.boolean(), { minLength: whole.length, maxLength: whole.length }),
      )
      .map(([dropped, ones]) => whole.map((n, axis) => (ones[axis] ? 1 : n)).slice(dropped));
    return fc
      .tuple(oneOf(0, 1), part)
      .map(([side, other]) => (side === 0 ? [whole, other] : [other, whole]) as [number[], number[]]);
  });
}

/** An axis, counted from either end. */
export const axisOf = (rank: number) => integer(-rank, rank - 1);

/** Some of the axes. */
export function axesOf(rank: number): fc.Arbitrary<number[]> {
  return fc.subarray(Array.from({ length: rank }, (_, axis) => axis));
}

/** The same record with each field drawn. */
export const record = fc.record as <T extends object>(
  fields: { [K in keyof T]: fc.Arbitrary<T[K]> },
) => fc.Arbitrary<T>;
