import * as tf from '@tensorflow/tfjs';
import { onTftrt } from '../../support/tftrt';
import { gradient, image, is, test } from './support';

describe('meaning of kernels: images', () => {
  onTftrt();

  const small = () =>
    image([
      [0, 4],
      [8, 12],
    ]);
  const grid = () =>
    image([
      [1, 2, 3],
      [4, 5, 6],
      [7, 8, 9],
    ]);

  test('resizeBilinear', () => {
    const plain = [0, 8 / 3, 4, 16 / 3, 8, 28 / 3, 8, 32 / 3, 12];
    is(tf.image.resizeBilinear(small(), [3, 3]), [1, 3, 3, 1], plain);
    const centered = [0, 2, 4, 4, 6, 8, 8, 10, 12];
    is(tf.image.resizeBilinear(small(), [3, 3], true), [1, 3, 3, 1], centered);
    is(tf.image.resizeBilinear(small(), [3, 3], false, true), [1, 3, 3, 1], centered);
  });
  test('resizeNearestNeighbor', () => {
    const y = tf.image.resizeNearestNeighbor(small(), [3, 3], false, true);
    is(y, [1, 3, 3, 1], [0, 4, 4, 8, 12, 12, 8, 12, 12]);
  });
  test('resize gradients of images that are not square', () => {
    const x = tf.zeros<tf.Rank.R4>([2, 2, 3, 1]);
    const nearest = gradient((input) => tf.sum(tf.image.resizeNearestNeighbor(input, [4, 3])), x);
    is(nearest, [2, 2, 3, 1], Array(12).fill(2));
    const bilinear = gradient((input) => tf.sum(tf.image.resizeBilinear(input, [1, 1])), x);
    is(bilinear, [2, 2, 3, 1], [1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]);
  });
  test('cropAndResize over the edge', () => {
    const y = tf.image.cropAndResize(
      grid(),
      tf.tensor2d([-0.5, 0, 1, 1], [1, 4]),
      tf.tensor1d([0], 'int32'),
      [3, 3],
      'bilinear',
      -9,
    );
    is(y, [1, 3, 3, 1], [-9, -9, -9, 2.5, 3.5, 4.5, 7, 8, 9]);
  });
  test('transform, also of the second image of a batch', () => {
    const one = image([
      [1, 2],
      [3, 4],
    ]);
    const shift = tf.tensor2d([1, 0, 1, 0, 1, 0, 0, 0], [1, 8]);
    is(tf.image.transform(one, shift, 'nearest', 'constant', 7), [1, 2, 2, 1], [2, 7, 4, 7]);
    const two = tf.concat([one, tf.add(one, 10)]) as tf.Tensor4D;
    is(tf.image.transform(two, shift, 'nearest', 'constant', 7), [2, 2, 2, 1], [2, 7, 4, 7, 12, 7, 14, 7]);
  });
  test('rotateWithOffset, with one filling or one for each channel', () => {
    const angle = Math.PI / 2 - 1e-3; // anticlockwise, and off the boundaries between pixels
    is(
      tf.image.rotateWithOffset(grid(), angle, -1, [1 / 3, 1 / 3]),
      [1, 3, 3, 1],
      [3, 6, 9, 2, 5, 8, 1, 4, 7],
    );
    is(tf.image.rotateWithOffset(grid(), angle, -1, 0), [1, 3, 3, 1], [1, 4, 7, -1, -1, -1, -1, -1, -1]);
    const pixel = tf.tensor4d([1, 2, 3, 4, 5, 6, 7, 8], [1, 1, 2, 4]);
    is(
      tf.image.rotateWithOffset(pixel, Math.PI, [20, 30, 40], 0),
      [1, 1, 2, 4],
      [1, 2, 3, 4, 20, 30, 40, 255],
    );
  });
  test('soft suppression lowers scores', () => {
    const boxes = tf.tensor2d([0, 0, 1, 1, 0.1, 0, 1.1, 1, 2, 0, 3, 1], [3, 4]);
    const scores = tf.tensor1d([0.6, 0.9, 0.5]);
    const { selectedIndices, selectedScores } = tf.image.nonMaxSuppressionWithScore(
      boxes,
      scores,
      3,
      1,
      0.1,
      0.5,
    );
    is(selectedIndices!, [3], [1, 2, 0], 'int32');
    is(selectedScores!, [3], [0.9, 0.5, 0.6 * Math.exp(-((0.9 / 1.1) ** 2))]);
  });
  test('padded suppression has at most as many results as boxes', () => {
    const boxes = tf.tensor2d([0, 0, 1, 1, 0, 0, 1, 1], [2, 4]);
    const padded = tf.image.nonMaxSuppressionPadded(boxes, tf.tensor1d([0.9, 0.8]), 4, 0.5, 0, true);
    is(padded.selectedIndices!, [2], [0, 0], 'int32');
    is(padded.validOutputs!, [], [1], 'int32');
  });
});
