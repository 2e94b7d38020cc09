import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import { onTftrt } from '../../support/tftrt';
import { tensor } from '../harness';
import { gradient, image, is, kernelIs, ones, test } from './support';

describe('meaning of kernels: padding and rounding', () => {
  onTftrt();

  test('conv1d: numeric padding rounded up', () => {
    const x = tf.tensor3d([1, 2, 3], [1, 3, 1]);
    const filter = tf.tensor3d([1, 1], [2, 1, 1]);
    is(tf.conv1d(x, filter, 2, 0, 'NWC', 1, 'ceil'), [1, 2, 1], [3, 3]);
  });
  test('conv2d: numeric padding with a filter and strides that are not square', () => {
    is(tf.conv2d(ones(1, 5, 5, 1), ones(1, 3, 1, 1), [1, 2], 0), [1, 5, 2, 1], Array(10).fill(3));
    is(tf.maxPool(ones(1, 5, 5, 1), [1, 3], [1, 2], 0), [1, 5, 2, 1], Array(10).fill(1));
  });
  test('conv2d: numeric padding', () => {
    is(tf.conv2d(ones(1, 3, 3, 1), ones(3, 3, 1, 1), 2, 1), [1, 2, 2, 1], [4, 4, 4, 4]);
  });
  test('conv2d: rounded up, the last windows reach over the edge', () => {
    const [x, filter] = [ones(1, 4, 4, 1), ones(2, 2, 1, 1)];
    is(tf.conv2d(x, filter, 3, 0, 'NHWC', 1, 'ceil'), [1, 2, 2, 1], [4, 2, 2, 1]);
    is(tf.conv2d(x, filter, 3, 0, 'NHWC', 1, 'floor'), [1, 1, 1, 1], [4]);
    is(tf.maxPool(x, 2, 3, 0, 'ceil'), [1, 2, 2, 1], [1, 1, 1, 1]);
    is(tf.avgPool(x, 2, 3, 0, 'ceil'), [1, 2, 2, 1], [1, 1, 1, 1]);
  });
  test('conv2d: padding side by side', () => {
    const pad: tf.backend_util.ExplicitPadding = [
      [0, 0],
      [1, 0],
      [0, 2],
      [0, 0],
    ];
    const y = tf.conv2d(
      image([
        [1, 2],
        [3, 4],
      ]),
      ones(2, 2, 1, 1),
      1,
      pad,
    );
    is(y, [1, 2, 3, 1], [3, 2, 0, 10, 6, 0]);
  });
  test('averages leave padding out', () => {
    const x = image([
      [1, 2],
      [3, 4],
    ]);
    is(tf.avgPool(x, 2, 1, 1), [1, 3, 3, 1], [1, 1.5, 2, 2, 2.5, 3, 3, 3.5, 4]);
    is(tf.avgPool(x, 2, 1, 'same'), [1, 2, 2, 1], [2.5, 3, 3.5, 4]);
  });
  test('maxima of negative numbers do not see padding', () => {
    is(
      tf.maxPool(
        image([
          [-1, -2],
          [-3, -4],
        ]),
        2,
        2,
        1,
      ),
      [1, 2, 2, 1],
      [-1, -2, -3, -4],
    );
  });
  test('dilation does not see padding', () => {
    const y = tf.dilation2d(
      image([
        [-5, -4],
        [-3, -2],
      ]),
      tf.zeros<tf.Rank.R3>([2, 2, 1]),
      1,
      'same',
    );
    is(y, [1, 2, 2, 1], [-2, -2, -2, -2]);
  });
  test('dilation with numeric padding, and its gradients', () => {
    const x = image([
      [1, 5],
      [7, 3],
    ]);
    const filter = tf.tensor3d([0.5, 0, 1, 0], [2, 2, 1]);
    is(tf.dilation2d(x, filter, 1, 1 as never), [1, 3, 3, 1], [1, 5, 6, 7, 8, 5.5, 7, 7.5, 3.5]);
    const loss = (image: tf.Tensor, weights: tf.Tensor) =>
      tf.dilation2d(image as tf.Tensor4D, weights as tf.Tensor3D, 1, 1 as never).sum();
    const [dx, dfilter] = tf.grads(loss)([x, filter]) as [tf.Tensor4D, tf.Tensor3D];
    expect(dx.shape).to.deep.equal(x.shape);
    expect(dx.sum().dataSync()[0]).to.equal(9);
    expect(dfilter.sum().dataSync()[0]).to.equal(9);
  });
  test('conv2dTranspose', () => {
    const y = tf.conv2dTranspose(
      image([
        [1, 2],
        [3, 4],
      ]),
      ones(3, 3, 1, 1),
      [1, 4, 4, 1],
      2,
      'same',
    );
    is(y, [1, 4, 4, 1], [1, 1, 3, 2, 1, 1, 3, 2, 4, 4, 10, 6, 3, 3, 7, 4]);
  });
  test('gradients of numeric padding', () => {
    const loss = (x: tf.Tensor4D) => tf.sum(tf.conv2d(x, ones(3, 3, 1, 1), 2, 1));
    is(gradient(loss, ones(1, 3, 3, 1)), [1, 3, 3, 1], [1, 2, 1, 2, 4, 2, 1, 2, 1]);
    const pooled = (x: tf.Tensor4D) => tf.sum(tf.avgPool(x, 2, 1, 1));
    is(
      gradient(
        pooled,
        image([
          [1, 2],
          [3, 4],
        ]),
      ),
      [1, 2, 2, 1],
      Array(4).fill(2.25),
    );
    const most = (x: tf.Tensor4D) => tf.sum(tf.maxPool(x, 2, 2, 1));
    is(
      gradient(
        most,
        image([
          [-1, -2],
          [-3, -4],
        ]),
      ),
      [1, 2, 2, 1],
      [1, 1, 1, 1],
    );
  });
  test('conv2d: a stride across of no consequence', () => {
    // With one channel and one column of results, oneDNN reads the wrong cells.
    const x = tf.range(0, 12).reshape([1, 4, 3, 1]) as tf.Tensor4D;
    const filter = tf.tensor4d([0, 0, 1], [1, 3, 1, 1]);
    is(tf.conv2d(x, filter, [1, 2], 'valid'), [1, 4, 1, 1], [2, 5, 8, 11]);
    is(tf.conv2d(x, filter, [1, 3], 'same'), [1, 4, 1, 1], [2, 5, 8, 11]);
  });
  test('conv2d: gradients of a filter of one cell that skips cells', () => {
    // oneDNN writes outside of its memory for many of these shapes, and the process ends.
    for (const dataFormat of ['NHWC', 'NCHW'] as const) {
      for (const [batch, height, width, channels, filters, down, across] of [
        [1, 14, 16, 3, 2, 2, 2],
        [2, 8, 3, 2, 20, 2, 2],
        [1, 10, 20, 14, 9, 2, 2],
        [1, 12, 16, 7, 2, 2, 1],
        [1, 14, 9, 9, 9, 2, 3],
      ] as const) {
        const filter = ones(1, 1, channels, filters);
        const x =
          dataFormat === 'NHWC' ? ones(batch, height, width, channels) : ones(batch, channels, height, width);
        for (const pad of ['same', 'valid'] as const) {
          const steps: [number, number] = [down, across];
          const sum = (f: tf.Tensor4D) => tf.sum(tf.conv2d(x, f, steps, pad, dataFormat));
          const met = batch * Math.ceil(height / down) * Math.ceil(width / across);
          for (let i = 0; i < 10; i++) is(gradient(sum, filter), filter.shape, Array(filter.size).fill(met));
        }
      }
    }
    const rows = tf.tensor4d([1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 3, 3, 1]);
    const filter = ones(1, 1, 1, 1);
    is(
      gradient((f) => tf.sum(tf.conv2d(rows, f as tf.Tensor4D, [2, 1], 'same')), filter),
      [1, 1, 1, 1],
      [1 + 2 + 3 + 7 + 8 + 9],
    );
  });
  test('depthwise: gradients of a filter of one cell that skips cells', () => {
    for (const [batch, height, width, channels, steps] of [
      [1, 14, 16, 3, 2],
      [2, 12, 12, 10, 3],
      [1, 18, 14, 1, 2],
      [3, 6, 16, 1, 2],
    ] as const) {
      const x = ones(batch, height, width, channels);
      const filter = ones(1, 1, channels, 1);
      const sum = (f: tf.Tensor4D) => tf.sum(tf.depthwiseConv2d(x, f, steps, 'same'));
      const met = batch * Math.ceil(height / steps) * Math.ceil(width / steps);
      for (let i = 0; i < 20; i++) is(gradient(sum, filter), filter.shape, Array(channels).fill(met));
    }
  });
  test('conv2d: a window that meets padding only', () => {
    // oneDNN ends the process.
    const x = ones(4, 2, 1, 8);
    const filter = ones(3, 1, 8, 1);
    const pad: Array<[number, number]> = [
      [0, 0],
      [2, 1],
      [1, 2],
      [0, 0],
    ];
    const convolve = (image: tf.Tensor4D, weights: tf.Tensor4D) =>
      tf.conv2d(image, weights, [2, 3], pad as tf.backend_util.ExplicitPadding);
    is(convolve(x, filter), [4, 2, 2, 1], Array(16).fill(0));
    is(
      gradient((image) => tf.sum(convolve(image as tf.Tensor4D, filter)), x),
      [4, 2, 1, 8],
      Array(64).fill(0),
    );
    is(
      gradient((weights) => tf.sum(convolve(x, weights as tf.Tensor4D)), filter),
      [3, 1, 8, 1],
      Array(24).fill(0),
    );
  });
  test('volumes: a stride across of no consequence', () => {
    const x = tf.range(0, 18).reshape([1, 1, 6, 3, 1]) as tf.Tensor5D;
    const filter = tf.tensor5d([0, 1], [1, 1, 2, 1, 1]);
    is(tf.conv3d(x, filter, [1, 1, 2], 'valid'), [1, 1, 6, 1, 1], [1, 4, 7, 10, 13, 16]);
  });
  test('volumes: dilated', () => {
    const x = tf.range(0, 5).reshape([1, 1, 1, 5, 1]) as tf.Tensor5D;
    const filter = tf.tensor5d([1, 10], [1, 1, 2, 1, 1]);
    const y = tf.conv3d(x, filter, 1, 'valid', 'NDHWC', [1, 1, 3]);
    is(y, [1, 1, 1, 2, 1], [30, 41]);
  });
  test('depthwise: different strides down and across', () => {
    const x = tf.range(0, 20).reshape([1, 4, 5, 1]) as tf.Tensor4D;
    const filter = tf.tensor4d([1], [1, 1, 1, 1]);
    is(
      tf.depthwiseConv2d(x, filter, [1, 2], 'same'),
      [1, 4, 3, 1],
      [0, 2, 4, 5, 7, 9, 10, 12, 14, 15, 17, 19],
    );
    is(tf.depthwiseConv2d(x, filter, [3, 2], 'valid'), [1, 2, 3, 1], [0, 2, 4, 15, 17, 19]);
  });
  test('poolings of whole numbers', () => {
    const x = tensor('int32', [1, 2, 2, 1], [-7, -5, -9, -8]);
    const attrs = { filterSize: 2, strides: 1, pad: 1 };
    kernelIs('MaxPool', { x }, attrs, tensor('int32', [1, 3, 3, 1], [-7, -5, -5, -7, -5, -5, -9, -8, -8]));
  });
  test('maxPoolWithArgmax', () => {
    const { result, indexes } = tf.maxPoolWithArgmax(
      image([
        [1, 5],
        [3, 2],
      ]),
      2,
      1,
      'valid',
    );
    is(result!, [1, 1, 1, 1], [5]);
    is(indexes!, [1, 1, 1, 1], [1], 'int32');
  });
  test('maxPoolWithArgmax: positions with padding are those in the input', () => {
    const x = tf.tensor4d([4, 1, 2, 3, 5, 6, 7, 8], [2, 2, 2, 1]);
    const { indexes } = tf.maxPoolWithArgmax(x, 2, 2, 1, true);
    is(indexes!, [2, 2, 2, 1], [0, 1, 2, 3, 4, 5, 6, 7], 'int32');
  });
});
