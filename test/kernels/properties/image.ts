import type { DataType } from '@tensorflow/tfjs-core';
import * as k from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import { integer, oneOf, type Property, property, tensorOf, tensorOfAny, value } from '../arbitraries';
import type { TensorSpec } from '../harness';

const imageShape = fc.tuple(integer(1, 2), integer(2, 5), integer(2, 5), integer(1, 3));
const target = fc.tuple(integer(1, 6), integer(1, 6));
const squareShape = fc
  .tuple(integer(2, 5), integer(1, 3))
  .map(([side, channels]): [number, number, number, number] => [1, side, side, channels]);
const bigTarget = fc.tuple(integer(2, 6), integer(2, 6));
const corners = oneOf(
  { alignCorners: false, halfPixelCenters: false },
  { alignCorners: true, halfPixelCenters: false },
  { alignCorners: false, halfPixelCenters: true },
);

function resize(kernel: string, dtypes: readonly DataType[]): Property {
  return property(
    kernel,
    fc.tuple(imageShape, target, corners).chain(([dimensions, size, options]) =>
      tensorOfAny(dtypes, dimensions).map((images) => ({
        inputs: { images },
        attrs: { ...options, size },
      })),
    ),
  );
}

/**
 * tfjs's gradients do not know half pixel centers. Those of tfjs-backend-cpu take the height for the width, divide by zero for
 * images of one pixel, and lose parts of the second image of a batch.
 */
function resizeGradient(kernel: string): Property {
  return property(
    kernel,
    fc
      .tuple(squareShape, bigTarget, fc.boolean())
      .chain(([dimensions, size, alignCorners]) =>
        fc
          .tuple(
            tensorOf('float32', dimensions),
            tensorOf('float32', [dimensions[0], ...size, dimensions[3]]),
          )
          .map(([images, dy]) => ({ inputs: { images, dy }, attrs: { alignCorners, size } })),
      ),
  );
}

/** Boxes with their upper left corner first, and scores that differ. */
const boxes = integer(1, 8).chain((count) => {
  const number = value('float32', { min: 0, max: 4 });
  const box = fc
    .tuple(number, number, number, number)
    .map(([top, left, height, width]) => [top, left, top + height + 0.25, left + width + 0.25]);
  return fc
    .tuple(
      fc.array(box, { minLength: count, maxLength: count }),
      fc.shuffledSubarray(
        Array.from({ length: count }, (_, i) => (i + 1) / count),
        { minLength: count, maxLength: count },
      ),
    )
    .map(([list, scores]): { boxes: TensorSpec; scores: TensorSpec } => ({
      boxes: { dtype: 'float32', shape: [count, 4], values: list.flat() },
      scores: { dtype: 'float32', shape: [count], values: scores },
    }));
});

function suppression(
  kernel: string,
  extra: fc.Arbitrary<object>,
  thresholds: fc.Arbitrary<number> = oneOf(0.1037, 0.3049, 0.7103),
): Property {
  return property(
    kernel,
    fc
      .tuple(boxes, integer(1, 8), thresholds, oneOf(0.05, 0.3), extra)
      .map(([inputs, most, iouThreshold, scoreThreshold, others]) => ({
        inputs: { ...inputs },
        attrs: {
          maxOutputSize: Math.min(most, inputs.scores.shape[0]!),
          iouThreshold,
          scoreThreshold,
          ...others,
        },
      })),
  );
}

/** One image: tfjs-backend-cpu computes the first of a batch only. */
/** Rotations that hit no boundary between two pixels, where rounding would decide. */
const rotations = fc
  .tuple(
    fc.tuple(integer(1, 2), integer(1, 6), integer(1, 6), integer(1, 5)),
    fc.double({ min: -4, max: 4, noNaN: true }),
    oneOf<number | [number, number]>(0.5, 0, [0.2, 0.9]),
    oneOf<number | [number, number, number]>(0, -7.5, [1, 2, 3]),
  )
  .filter(([[, height, width], radians, center]) => {
    const [centerX, centerY] = k.backend_util.getImageCenter(center, height, width);
    const [sin, cos] = [Math.sin(radians), Math.cos(radians)];
    const clear = (value: number) => Math.abs(value - Math.floor(value) - 0.5) > 1e-4;
    return Array.from({ length: height * width }, (_, i) => {
      const [x, y] = [(i % width) - centerX, Math.floor(i / width) - centerY];
      return clear(x * cos - y * sin + centerX) && clear(x * sin + y * cos + centerY);
    }).every(Boolean);
  })
  .chain(([dimensions, radians, center, fillValue]) =>
    tensorOf('float32', dimensions).map((image) => ({
      inputs: { image },
      attrs: { radians, fillValue, center },
    })),
  );

const transforms = fc
  .tuple(
    imageShape.map(([, ...rest]) => [1, ...rest] as const),
    oneOf('constant', 'reflect', 'wrap', 'nearest'),
    oneOf('nearest', 'bilinear'),
    target,
  )
  .chain(([dimensions, fillMode, interpolation, outputShape]) =>
    fc
      .tuple(
        tensorOf('float32', [...dimensions]),
        // Shifts and scales that hit no boundary between two pixels, where rounding would decide.
        fc.array(fc.tuple(oneOf(0.83, 1, 1.31), oneOf(0, 0.17), oneOf(-1.13, 0.07, 2.21)), {
          minLength: dimensions[0] * 2,
          maxLength: dimensions[0] * 2,
        }),
      )
      .map(([image, rows]) => {
        const values = Array.from({ length: dimensions[0] }, (_, i) => {
          const [[a0, a1, a2], [b0, b1, b2]] = [rows[2 * i]!, rows[2 * i + 1]!];
          return [a0, a1, a2, b1, b0, b2, 0, 0];
        }).flat();
        const transforms: TensorSpec = { dtype: 'float32', shape: [dimensions[0], 8], values };
        return {
          inputs: { image, transforms },
          attrs: { fillMode, interpolation, outputShape, fillValue: 7 },
        };
      }),
  );

export const imageProperties: Property[] = [
  resize(k.ResizeBilinear, ['float32', 'int32']),
  resize(k.ResizeNearestNeighbor, ['float32']),
  resizeGradient(k.ResizeBilinearGrad),
  resizeGradient(k.ResizeNearestNeighborGrad),
  property(
    k.CropAndResize,
    fc
      .tuple(imageShape, integer(1, 3), target, oneOf('bilinear'), oneOf(0, -9))
      .chain(([dimensions, count, cropSize, method, extrapolationValue]) =>
        fc
          .tuple(
            tensorOf('float32', dimensions),
            tensorOf('float32', [count, 4], { min: -1, max: 2 }),
            tensorOf('int32', [count], { min: 0, max: dimensions[0] - 1 }),
          )
          .map(([image, boxes, boxInd]) => ({
            inputs: { image, boxes, boxInd },
            attrs: { cropSize, method, extrapolationValue },
          })),
      ),
  ),
  property(
    k.FlipLeftRight,
    imageShape.chain((dimensions) => tensorOf('float32', dimensions).map((image) => ({ inputs: { image } }))),
  ),
  property(k.Transform, transforms, 1e-4),
  property(k.RotateWithOffset, rotations),
  suppression(k.NonMaxSuppressionV3, fc.constant({})),
  suppression(k.NonMaxSuppressionV4, fc.record({ padToMaxOutputSize: fc.boolean() })),
  suppression(k.NonMaxSuppressionV5, fc.constant({ softNmsSigma: 0 })),
  // Boxes that overlap more than the threshold are gone for tfjs-backend-cpu; TensorFlow's soft suppression has no threshold.
  suppression(k.NonMaxSuppressionV5, fc.constant({ softNmsSigma: 0.5 }), oneOf(1)),
  property(
    k.Dilation2D,
    dilations().map(({ x, filter, attrs }) => ({ inputs: { x, filter }, attrs })),
  ),
  dilationGradient(k.Dilation2DBackpropInput),
  dilationGradient(k.Dilation2DBackpropFilter),
];

function dilations() {
  return fc
    .tuple(
      imageShape,
      fc.tuple(integer(1, 2), integer(1, 2)),
      integer(1, 2),
      oneOf('valid', 'same'),
      integer(1, 2),
    )
    .filter(([[, height, width], filter, , , dilation]) => {
      const extent = (size: number) => (size - 1) * dilation + 1;
      return extent(filter[0]) <= height && extent(filter[1]) <= width;
    })
    .chain(([dimensions, filter, stride, pad, dilation]) =>
      fc
        .tuple(tensorOf('float32', dimensions), tensorOf('float32', [...filter, dimensions[3]]))
        .map(([x, weights]) => ({
          x,
          filter: weights,
          attrs: { strides: [stride, stride], pad, dilations: [dilation, dilation] },
        })),
    );
}

function dilationGradient(kernel: string): Property {
  return property(
    kernel,
    dilations().chain(({ x, filter, attrs }) => {
      const { outShape } = k.backend_util.computeDilation2DInfo(
        x.shape as [number, number, number, number],
        filter.shape as [number, number, number],
        attrs.strides as [number, number],
        attrs.pad as 'valid',
        'NHWC',
        attrs.dilations as [number, number],
      );
      return tensorOf('float32', outShape).map((dy) => ({ inputs: { x, filter, dy }, attrs }));
    }),
  );
}
