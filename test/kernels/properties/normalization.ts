import * as k from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import { integer, oneOf, type Property, property, shape, tensorOf } from '../arbitraries';
import type { TensorSpec } from '../harness';

const images = fc.tuple(integer(1, 2), integer(1, 4), integer(1, 4), integer(1, 4));
const lrn = fc.record({
  depthRadius: integer(0, 3),
  bias: oneOf(1, 2),
  alpha: oneOf(0.5, 1),
  beta: oneOf(0.5, 0.75),
});

export const normalizationProperties: Property[] = [
  property(
    k.FusedBatchNorm,
    fc
      .tuple(fc.oneof(images, shape(2, 3)), fc.boolean(), fc.boolean(), oneOf(0.001, 0.1))
      .chain(([dimensions, scaled, moved, varianceEpsilon]) => {
        const channels = [dimensions.at(-1)!];
        const parameter = tensorOf('float32', channels);
        return fc
          .tuple(
            tensorOf('float32', dimensions),
            parameter,
            tensorOf('float32', channels, { min: 0.5, max: 4 }),
            parameter,
            parameter,
          )
          .map(([x, mean, variance, scale, offset]) => ({
            inputs: {
              x,
              mean,
              variance,
              ...(scaled ? { scale } : {}),
              ...(moved ? { offset } : {}),
            } as Record<string, TensorSpec>,
            attrs: { varianceEpsilon },
          }));
      }),
  ),
  property(
    k.LRN,
    fc
      .tuple(
        images.chain((dimensions) => tensorOf('float32', dimensions)),
        lrn,
      )
      .map(([x, attrs]) => ({ inputs: { x }, attrs })),
  ),
  property(
    k.LRNGrad,
    fc.tuple(images, lrn).chain(([dimensions, attrs]) =>
      fc.tuple(tensorOf('float32', dimensions), tensorOf('float32', dimensions)).map(([x, dy]) => ({
        inputs: { x, dy, y: normalized(x, attrs) },
        attrs,
      })),
    ),
    1e-4,
  ),
  property(
    k.Softmax,
    shape(1, 4).chain((dimensions) =>
      tensorOf('float32', dimensions).map((logits) => ({
        inputs: { logits },
        attrs: { dim: dimensions.length - 1 },
      })),
    ),
  ),
];

/** The local response normalization by its definition: what its gradient is given next to the input. */
function normalized(
  { dtype, shape: dimensions, values }: TensorSpec,
  { depthRadius, bias, alpha, beta }: { depthRadius: number; bias: number; alpha: number; beta: number },
): TensorSpec {
  const depth = dimensions.at(-1)!;
  const numbers = values as number[];
  return {
    dtype,
    shape: dimensions,
    values: numbers.map((value, i) => {
      const channel = i % depth;
      let sum = 0;
      for (let c = Math.max(0, channel - depthRadius); c <= Math.min(depth - 1, channel + depthRadius); c++) {
        sum += numbers[i - channel + c]! ** 2;
      }
      return value / (bias + alpha * sum) ** beta;
    }),
  };
}
