import type { DataType } from '@tensorflow/tfjs-core';
import * as k from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import { integer, oneOf, type Property, property, tensorOf } from '../arbitraries';
import type { TensorSpec } from '../harness';

interface Pool {
  readonly x: number[];
  readonly outShape: number[];
  readonly attrs: Record<string, unknown>;
}

/** Poolings whose windows lie on at least one cell each; the sides of numeric padding are alike, as tfjs-backend-cpu wants it. */
const pools2d: fc.Arbitrary<Pool> = fc
  .tuple(
    fc.tuple(integer(1, 2), integer(4, 7), integer(4, 7), integer(1, 3)),
    fc.tuple(integer(2, 3), integer(2, 3)),
    fc.tuple(integer(1, 3), integer(1, 3)),
    oneOf('valid', 'same', 'number'),
    integer(0, 1),
    oneOf('floor', undefined),
  )
  .map(([x, filter, strides, kind, number, rounding]) => {
    const square = kind === 'number';
    const attrs = {
      filterSize: square ? [filter[0], filter[0]] : filter,
      strides: square ? [strides[0], strides[0]] : strides,
      pad: square ? number : kind,
      dimRoundingMode: square ? rounding : undefined,
    };
    const { outShape } = k.backend_util.computePool2DInfo(
      x,
      attrs.filterSize as [number, number],
      attrs.strides as [number, number],
      1,
      attrs.pad as 'valid',
      attrs.dimRoundingMode as 'floor',
    );
    return { x, outShape, attrs };
  });

const pools3d: fc.Arbitrary<Pool> = fc
  .tuple(
    fc.tuple(integer(1, 2), integer(3, 5), integer(3, 5), integer(3, 5), integer(1, 2)),
    integer(2, 3),
    integer(1, 2),
    oneOf<'valid' | 'same' | number>('valid', 'same', 1),
    oneOf('floor' as const, undefined),
  )
  .map(([x, filter, stride, pad, rounding]) => {
    const dimRoundingMode = typeof pad === 'number' ? rounding : undefined;
    const { outShape } = k.backend_util.computePool3DInfo(x, filter, stride, 1, pad, dimRoundingMode);
    return {
      x,
      outShape,
      attrs: { filterSize: filter, strides: stride, pad, dimRoundingMode, dataFormat: 'NDHWC' },
    };
  });

/** Different values, so that each maximum has one place. */
function distinct(shape: number[]): fc.Arbitrary<TensorSpec> {
  const count = shape.reduce((product, n) => product * n, 1);
  const values = Array.from({ length: count }, (_, i) => i - count / 2);
  return fc.shuffledSubarray(values, { minLength: count, maxLength: count }).map((shuffled) => ({
    dtype: 'float32' as DataType,
    shape,
    values: shuffled,
  }));
}

function pooling(kernel: string, pools: fc.Arbitrary<Pool>, attrs: object = {}): Property {
  return property(
    kernel,
    pools.chain((pool) =>
      distinct(pool.x).map((x) => ({ inputs: { x }, attrs: { ...pool.attrs, ...attrs } })),
    ),
  );
}

/**
 * At the edges, tfjs-backend-cpu's average gradients count cells of padding as cells, unlike its averages and unlike TensorFlow, so those
 * are not padded. A gradient is not told how the number of positions was rounded.
 */
function gradient(kernel: string, pools: fc.Arbitrary<Pool>, average: boolean): Property {
  const cases = pools
    .filter(
      ({ attrs }) =>
        attrs.dimRoundingMode !== 'round' && (!average || attrs.pad === 'valid' || attrs.pad === 0),
    )
    .chain((pool) =>
      fc
        .tuple(distinct(pool.x), tensorOf('float32', pool.outShape))
        .map(([input, dy]) => ({ inputs: { input, dy }, attrs: pool.attrs })),
    );
  return property(kernel, cases);
}

/** The gradient of a 2-D maximum gets that maximum as well; with padding it is computed again. */
const maxPoolGradient: Property = property(
  k.MaxPoolGrad,
  pools2d
    .filter(({ attrs }) => attrs.dimRoundingMode !== 'round')
    .chain((pool) =>
      fc.tuple(distinct(pool.x), tensorOf('float32', pool.outShape)).map(([input, dy]) => ({
        inputs: { input, dy, output: maximaOf(input, pool) },
        attrs: pool.attrs,
      })),
    ),
);

function maximaOf(input: TensorSpec, { outShape, attrs }: Pool): TensorSpec {
  const [batch, height, width, channels] = input.shape as [number, number, number, number];
  const info = k.backend_util.computePool2DInfo(
    [batch, height, width, channels],
    attrs.filterSize as [number, number],
    attrs.strides as [number, number],
    1,
    attrs.pad as 'valid',
    attrs.dimRoundingMode as undefined,
  );
  const values: number[] = [];
  for (let b = 0; b < batch; b++)
    for (let y = 0; y < info.outHeight; y++)
      for (let x = 0; x < info.outWidth; x++)
        for (let c = 0; c < channels; c++) {
          let maximum = -Infinity;
          for (let i = 0; i < info.filterHeight; i++)
            for (let j = 0; j < info.filterWidth; j++) {
              const row = y * info.strideHeight - info.padInfo.top + i;
              const column = x * info.strideWidth - info.padInfo.left + j;
              if (row < 0 || column < 0 || row >= height || column >= width) continue;
              const value = input.values[((b * height + row) * width + column) * channels + c] as number;
              maximum = Math.max(maximum, value);
            }
          values.push(maximum);
        }
  return { dtype: 'float32', shape: outShape, values };
}

export const poolProperties: Property[] = [
  pooling(k.AvgPool, pools2d),
  pooling(k.AvgPool3D, pools3d),
  pooling(k.MaxPool, pools2d),
  pooling(k.MaxPool3D, pools3d),
  pooling(k.MaxPoolWithArgmax, pools2d, { includeBatchInIndex: false, dimRoundingMode: undefined }),
  pooling(k.MaxPoolWithArgmax, pools2d, { includeBatchInIndex: true, dimRoundingMode: undefined }),
  gradient(k.AvgPoolGrad, pools2d, true),
  gradient(k.AvgPool3DGrad, pools3d, true),
  gradient(k.MaxPool3DGrad, pools3d, false),
  maxPoolGradient,
];
