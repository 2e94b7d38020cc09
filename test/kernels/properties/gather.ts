import type { DataType } from '@tensorflow/tfjs-core';
import * as k from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import { integer, oneOf, type Property, property, shape, tensorOf, tensorOfAny } from '../arbitraries';
import type { TensorSpec } from '../harness';

const NUMBERS: readonly DataType[] = ['float32', 'int32', 'bool'];

const gathers = shape(1, 4).chain((dimensions) =>
  integer(0, dimensions.length - 1).chain((axis) =>
    fc
      .tuple(
        tensorOfAny([...NUMBERS, 'string'], dimensions),
        shape(1, 2).chain((indices) => tensorOf('int32', indices, { min: 0, max: dimensions[axis]! - 1 })),
      )
      .map(([x, indices]) => ({ inputs: { x, indices }, attrs: { axis, batchDims: 0 } })),
  ),
);

/** Tuples of indices into the first axes of a shape. */
function tuplesInto(dimensions: number[], depth: number, count: number): fc.Arbitrary<TensorSpec> {
  return fc
    .array(fc.tuple(...dimensions.slice(0, depth).map((length) => integer(0, length - 1))), {
      minLength: count,
      maxLength: count,
    })
    .map((tuples) => ({ dtype: 'int32', shape: [count, depth], values: tuples.flat() }));
}

const tuples = shape(1, 4).chain((dimensions) =>
  fc
    .tuple(integer(1, dimensions.length), integer(1, 4))
    .chain(([depth, count]) =>
      fc.tuple(
        fc.constant(dimensions),
        fc.constant(depth),
        fc.constant(count),
        tuplesInto(dimensions, depth, count),
      ),
    ),
);

const distinctTuples = tuples.filter(([, depth, count, { values }]) => {
  const keys = Array.from({ length: count }, (_, i) => values.slice(i * depth, (i + 1) * depth).join());
  return new Set(keys).size === count;
});

/** Rows in ascending order. */
const sortedRows = fc
  .tuple(integer(1, 3), integer(1, 5), oneOf<DataType>('float32', 'int32'))
  .chain(([rows, length, dtype]) =>
    fc
      .tuple(tensorOf(dtype, [rows, length]), tensorOf(dtype, [rows, 4]), oneOf('left', 'right'))
      .map(([sequence, values, side]) => ({
        inputs: {
          sortedSequence: {
            ...sequence,
            values: Array.from({ length: rows }, (_, row) =>
              (sequence.values as number[]).slice(row * length, (row + 1) * length).sort((a, b) => a - b),
            ).flat(),
          },
          values,
        },
        attrs: { side },
      })),
  );

export const gatherProperties: Property[] = [
  property(k.GatherV2, gathers),
  property(
    k.GatherNd,
    tuples.chain(([dimensions, , , indices]) =>
      tensorOfAny([...NUMBERS, 'string'], dimensions).map((params) => ({ inputs: { params, indices } })),
    ),
  ),
  property(
    k.ScatterNd,
    tuples.chain(([dimensions, depth, count, indices]) =>
      tensorOfAny(['float32', 'int32'], [count, ...dimensions.slice(depth)]).map((updates) => ({
        inputs: { indices, updates },
        attrs: { shape: dimensions },
      })),
    ),
  ),
  property(
    k.TensorScatterUpdate,
    distinctTuples.chain(([dimensions, depth, count, indices]) =>
      oneOf<DataType>('float32', 'int32').chain((dtype) =>
        fc
          .tuple(tensorOf(dtype, dimensions), tensorOf(dtype, [count, ...dimensions.slice(depth)]))
          .map(([tensor, updates]) => ({ inputs: { tensor, indices, updates } })),
      ),
    ),
  ),
  property(
    k.SparseToDense,
    distinctTuples
      .filter(([dimensions, depth]) => depth === dimensions.length)
      .chain(([dimensions, , count, sparseIndices]) =>
        oneOf<DataType>('float32', 'int32', 'bool').chain((dtype) =>
          fc.tuple(tensorOf(dtype, [count]), tensorOf(dtype, [])).map(([sparseValues, defaultValue]) => ({
            inputs: { sparseIndices, sparseValues, defaultValue },
            attrs: { outputShape: dimensions },
          })),
        ),
      ),
  ),
  property(
    k.UnsortedSegmentSum,
    shape(1, 3).chain((dimensions) =>
      fc
        .tuple(
          // Of int32, tfjs-backend-cpu makes float32.
          tensorOf('float32', dimensions),
          tensorOf('int32', [dimensions[0]!], { min: -1, max: 3 }),
        )
        .map(([x, segmentIds]) => ({ inputs: { x, segmentIds }, attrs: { numSegments: 4 } })),
    ),
  ),
  property(
    k.TopK,
    shape(1, 3).chain((dimensions) =>
      fc
        .tuple(tensorOfAny(['float32', 'int32'], dimensions), integer(1, dimensions.at(-1)!))
        .map(([x, count]) => ({ inputs: { x }, attrs: { k: count, sorted: true } })),
    ),
  ),
  property(
    k.Unique,
    shape(1, 3).chain((dimensions) =>
      fc
        .tuple(
          tensorOfAny([...NUMBERS, 'string'], dimensions, { min: -2, max: 2 }),
          integer(0, dimensions.length - 1),
        )
        .map(([x, axis]) => ({ inputs: { x }, attrs: { axis } })),
    ),
  ),
  property(k.SearchSorted, sortedRows),
];
