import * as k from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import { integer, oneOf, type Property, property, shape, stringsOf, tensorOf } from '../arbitraries';
import type { TensorSpec } from '../harness';

/** Spectra, sparse and ragged tensors, strings. */
const onInput = (kernel: string, inputs: fc.Arbitrary<TensorSpec>, name = 'input', tolerance?: number) =>
  property(
    kernel,
    inputs.map((input) => ({ inputs: { [name]: input } })),
    tolerance,
  );

const complex = (minRank: number, maxRank: number) =>
  shape(minRank, maxRank).chain((dimensions) => tensorOf('complex64', dimensions));

const spectral: Property[] = [
  onInput(k.FFT, complex(1, 3), 'input', 1e-4),
  onInput(k.IFFT, complex(1, 3), 'input', 1e-4),
  onInput(k.Real, complex(0, 4)),
  onInput(k.Imag, complex(0, 4)),
  onInput(k.ComplexAbs, complex(0, 4), 'x'),
  property(
    k.Complex,
    shape(0, 4).chain((dimensions) =>
      fc
        .tuple(tensorOf('float32', dimensions), tensorOf('float32', dimensions))
        .map(([real, imag]) => ({ inputs: { real, imag } })),
    ),
  ),
];

/** A sparse matrix: ascending indices of cells, all different. */
const cells = fc.tuple(integer(1, 4), integer(1, 4)).chain(([rows, columns]) =>
  fc.subarray(Array.from({ length: rows * columns }, (_, cell) => cell)).map((list) => ({
    rows,
    columns,
    count: list.length,
    indices: list.flatMap((cell) => [Math.floor(cell / columns), cell % columns]),
  })),
);
const vector = (values: number[]): TensorSpec => ({ dtype: 'int32', shape: [values.length], values });

const segments = (kernel: string) =>
  property(
    kernel,
    fc
      .tuple(integer(1, 4), integer(1, 3), fc.array(integer(0, 1), { minLength: 1, maxLength: 5 }))
      .chain(([rows, columns, steps]) =>
        fc
          .tuple(
            tensorOf('float32', [rows, columns]),
            tensorOf('int32', [steps.length], { min: 0, max: rows - 1 }),
          )
          .map(([data, indices]) => {
            let segment = 0;
            // Ids ascend by at most one.
            const segmentIds = vector(
              steps.map((step, i) => {
                if (i > 0) segment += step;
                return segment;
              }),
            );
            return { inputs: { data, indices, segmentIds } };
          }),
      ),
  );

const sparse: Property[] = [
  property(
    k.SparseFillEmptyRows,
    cells.chain(({ rows, columns, count, indices }) =>
      fc.tuple(tensorOf('float32', [count]), tensorOf('float32', [])).map(([values, defaultValue]) => ({
        inputs: {
          indices: { dtype: 'int32', shape: [count, 2], values: indices } as TensorSpec,
          values,
          denseShape: vector([rows, columns]),
          defaultValue,
        },
      })),
    ),
  ),
  property(
    k.SparseReshape,
    fc.tuple(cells, integer(0, 2)).map(([{ rows, columns, count, indices }, kind]) => ({
      inputs: {
        inputIndices: { dtype: 'int32', shape: [count, 2], values: indices } as TensorSpec,
        inputShape: vector([rows, columns]),
        newShape: vector([[columns, rows], [-1], [1, rows, -1]][kind]!),
      },
    })),
  ),
  segments(k.SparseSegmentMean),
  segments(k.SparseSegmentSum),
];

/** Where the rows of a ragged tensor end. */
const rowSplits = fc.array(integer(0, 3), { minLength: 1, maxLength: 4 }).map((lengths) => {
  const splits = [0];
  for (const length of lengths) splits.push(splits.at(-1)! + length);
  return splits;
});

const ragged: Property[] = [
  property(
    k.RaggedGather,
    rowSplits.chain((splits) =>
      fc
        .tuple(
          tensorOf('float32', [splits.at(-1)!]),
          shape(1, 2, { max: 3 }).chain((dimensions) =>
            tensorOf('int32', dimensions, { min: 0, max: splits.length - 2 }),
          ),
        )
        .map(([paramsDenseValues, indices]) => ({
          inputs: { paramsNestedSplits: [vector(splits)], paramsDenseValues, indices },
          attrs: { outputRaggedRank: indices.shape.length },
        })),
    ),
  ),
  property(
    k.RaggedRange,
    integer(1, 4).chain((count) =>
      fc
        .tuple(
          tensorOf('int32', [count], { min: 0, max: 4 }),
          tensorOf('int32', [count], { min: 4, max: 9 }),
          tensorOf('int32', [count], { min: 1, max: 3 }),
        )
        .map(([starts, limits, deltas]) => ({ inputs: { starts, limits, deltas } })),
    ),
  ),
  property(
    k.RaggedTensorToTensor,
    fc.tuple(rowSplits, integer(1, 4)).chain(([splits, width]) =>
      tensorOf('float32', [splits.at(-1)!]).map((values) => ({
        inputs: {
          shape: vector([splits.length - 1, width]),
          values,
          defaultValue: { dtype: 'float32', shape: [], values: [-1] } as TensorSpec,
          rowPartitionTensors: [vector(splits)],
        },
        attrs: { rowPartitionTypes: ['ROW_SPLITS'] },
      })),
    ),
  ),
];

const strings: Property[] = [
  property(
    k.StaticRegexReplace,
    fc
      .tuple(
        shape(0, 3).chain((dimensions) => stringsOf(dimensions, ['abcab', '', 'żaż', 'bb'])),
        oneOf('a', '[ab]+', 'ż'),
        fc.boolean(),
      )
      .map(([x, pattern, replaceGlobal]) => ({
        inputs: { x },
        attrs: { pattern, rewrite: 'X', replaceGlobal },
      })),
  ),
  property(
    k.StringNGrams,
    rowSplits.chain((splits) =>
      fc
        .tuple(
          stringsOf([splits.at(-1)!], ['a', 'bb', 'ż']),
          fc.record({
            nGramWidths: oneOf([1], [2, 3], [4]),
            padWidth: oneOf(-1, 0, 1),
            preserveShortSequences: fc.boolean(),
          }),
        )
        .map(([data, attrs]) => ({
          inputs: { data, dataSplits: vector(splits) },
          attrs: { separator: '|', leftPad: 'L', rightPad: 'R', ...attrs },
        })),
    ),
  ),
  property(
    k.StringSplit,
    fc
      .tuple(
        shape(1, 1).chain((dimensions) => stringsOf(dimensions, ['a b', ' c', 'd', 'e  f ', ''])),
        oneOf(' ', ''),
        fc.boolean(),
      )
      .map(([input, delimiter, skipEmpty]) => ({
        inputs: { input, delimiter: { dtype: 'string', shape: [], values: [delimiter] } as TensorSpec },
        attrs: { skipEmpty },
      })),
  ),
  property(
    k.StringToHashBucketFast,
    fc
      .tuple(
        shape(0, 2).chain((dimensions) => stringsOf(dimensions, ['Hello', 'TensorFlow', '2.x', '', 'żółw'])),
        integer(1, 100),
      )
      .map(([input, numBuckets]) => ({ inputs: { input }, attrs: { numBuckets } })),
  ),
];

export const otherProperties: Property[] = [...spectral, ...sparse, ...ragged, ...strings];
