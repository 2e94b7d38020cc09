import * as k from '@tensorflow/tfjs-core';
import type { CallOperand, KernelCall } from './call';
import { runOnCpuBackend } from './fallback';
import { constant, custom, type KernelRow, op, scalar } from './table';

const size = constant((attrs) => attrs.size);
const corners = {
  align_corners: (attrs: { alignCorners?: boolean }) => attrs.alignCorners ?? false,
  half_pixel_centers: (attrs: { halfPixelCenters?: boolean }) => attrs.halfPixelCenters ?? false,
};
const boxLimits = [
  scalar((attrs) => attrs.maxOutputSize),
  scalar((attrs) => attrs.iouThreshold, 'float32'),
  scalar((attrs) => attrs.scoreThreshold, 'float32'),
];

/** Images, and boxes in them. */
export const imageKernels: KernelRow[] = [
  op(k.CropAndResize, 'CropAndResize', ['image', 'boxes', 'boxInd', constant((attrs) => attrs.cropSize)], {
    method: (attrs) => attrs.method ?? 'bilinear',
    extrapolation_value: (attrs) => attrs.extrapolationValue ?? 0,
  }),
  op(k.ResizeBilinear, 'ResizeBilinear', ['images', size], corners, {
    via: { bool: 'int32' },
    result: 'computed',
  }),
  op(k.ResizeBilinearGrad, 'ResizeBilinearGrad', ['dy', 'images'], corners),
  op(k.ResizeNearestNeighbor, 'ResizeNearestNeighbor', ['images', size], corners, {
    via: { bool: 'int32' },
  }),
  op(
    k.ResizeNearestNeighborGrad,
    'ResizeNearestNeighborGrad',
    ['dy', constant((_, { images }) => images.shape.slice(1, 3))],
    corners,
  ),
  op(k.FlipLeftRight, 'ReverseV2', ['image', constant(() => [2])]),
  op(
    k.Transform,
    'ImageProjectiveTransformV3',
    [
      'image',
      'transforms',
      constant((attrs, { image }) => attrs.outputShape ?? image.shape.slice(1, 3)),
      scalar((attrs) => attrs.fillValue ?? 0, 'float32'),
    ],
    {
      interpolation: (attrs) => (attrs.interpolation ?? 'nearest').toUpperCase(),
      fill_mode: (attrs) => (attrs.fillMode ?? 'constant').toUpperCase(),
    },
  ),

  op(k.NonMaxSuppressionV3, 'NonMaxSuppressionV3', ['boxes', 'scores', ...boxLimits]),
  op(
    k.NonMaxSuppressionV4,
    'NonMaxSuppressionV4',
    ['boxes', 'scores', ...boxLimits],
    { pad_to_max_output_size: (attrs) => attrs.padToMaxOutputSize ?? false },
    { outputs: () => 2 },
  ),
  custom(k.NonMaxSuppressionV5, (call) => {
    const { boxes, scores } = call.inputs;
    const { maxOutputSize, iouThreshold, scoreThreshold, softNmsSigma } = call.attrs;
    const limits = [iouThreshold, scoreThreshold, softNmsSigma].map((value) => call.scalar(value, 'float32'));
    const [indices, selectedScores] = call.runAll('NonMaxSuppressionV5', [
      boxes,
      scores,
      call.scalar(maxOutputSize),
      ...limits,
    ]);
    return [call.result(indices!), call.result(selectedScores!)];
  }),

  custom(k.RotateWithOffset, rotateWithOffset),

  /** No op of TensorFlow's. */
  custom(k.Draw, ({ inputs, attrs, backend }) => runOnCpuBackend(k.Draw, inputs, attrs, backend)),
];

/** What tfjs gives the fourth channel, alpha, where a rotated image leaves a corner empty and each channel has its own filling. */
const OPAQUE = 255;

function rotateWithOffset(call: KernelCall): k.TensorInfo {
  const { image } = call.inputs;
  const { radians, fillValue, center } = call.attrs;
  const [, height, width, channels] = image.shape as [number, number, number, number];
  const [centerX, centerY] = k.backend_util.getImageCenter(center, height, width);
  const [sin, cos] = [Math.sin(radians), Math.cos(radians)];
  const matrix = Float32Array.of(
    ...[cos, -sin, centerX - cos * centerX + sin * centerY],
    ...[sin, cos, centerY - sin * centerX - cos * centerY],
    ...[0, 0],
  );
  const rotate = (operand: CallOperand, filling: number) =>
    call.run(
      'ImageProjectiveTransformV3',
      [
        operand,
        call.tensor(matrix, [1, 8], 'float32'),
        call.constant([height, width]),
        call.scalar(filling, 'float32'),
      ],
      { interpolation: 'NEAREST', fill_mode: 'CONSTANT' },
    );
  if (typeof fillValue === 'number') return call.result(rotate(image, fillValue));
  const ones = call.run('Fill', [call.constant([1, height, width, 1]), call.scalar(1, 'float32')]);
  const inside = call.cast(rotate(ones, 0), 'bool');
  const fillings = Array.from({ length: channels }, (_, channel) =>
    channel === 3 ? OPAQUE : (fillValue[channel] ?? Number.NaN),
  );
  return call.result(call.select(inside, rotate(image, 0), call.constant(fillings, 'float32', [channels])));
}
