import * as k from '@tensorflow/tfjs-core';
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

  /** No op of TensorFlow's. */
  ...[k.Draw, k.RotateWithOffset].map((kernel) =>
    custom(kernel, ({ inputs, attrs, backend }) => runOnCpuBackend(kernel, inputs, attrs, backend)),
  ),
];
