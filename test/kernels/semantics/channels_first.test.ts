import * as tf from '@tensorflow/tfjs';
import { onTftrt } from '../../support/tftrt';
import { is, ones, test } from './support';

describe('meaning of kernels: channels first', () => {
  onTftrt();

  const nhwc = () => tf.range(0, 24).reshape([1, 3, 4, 2]) as tf.Tensor4D;
  const toFirst = (x: tf.Tensor) => tf.transpose(x as tf.Tensor4D, [0, 3, 1, 2]);
  const same = (first: tf.Tensor, last: tf.Tensor) => {
    const expected = toFirst(last);
    is(first, expected.shape, Array.from(expected.dataSync()));
  };

  test('fused conv2d with a bias', () => {
    const y = tf.fused.conv2d({
      x: ones(1, 2, 3, 3),
      filter: ones(2, 2, 2, 3),
      strides: 1,
      pad: 'valid',
      dataFormat: 'NCHW',
      bias: tf.tensor1d([1, 2, 3]),
    });
    is(y, [1, 3, 2, 2], [9, 9, 9, 9, 10, 10, 10, 10, 11, 11, 11, 11]);
  });
  test('conv2d and its gradients', () => {
    const filter = tf.range(0, 24).reshape([2, 3, 2, 2]) as tf.Tensor4D;
    const conv = (x: tf.Tensor4D, w: tf.Tensor4D, format: 'NHWC' | 'NCHW') =>
      tf.conv2d(x, w, 1, 'same', format);
    same(conv(toFirst(nhwc()), filter, 'NCHW'), conv(nhwc(), filter, 'NHWC'));
    const gradients = tf.grads((x, w) => conv(x as tf.Tensor4D, w as tf.Tensor4D, 'NHWC'));
    const gradientsFirst = tf.grads((x, w) => conv(x as tf.Tensor4D, w as tf.Tensor4D, 'NCHW'));
    const [dx, dw] = gradients([nhwc(), filter]);
    const [dxFirst, dwFirst] = gradientsFirst([toFirst(nhwc()), filter]);
    same(dxFirst!, dx!);
    is(dwFirst!, dw!.shape, Array.from(dw!.dataSync()));
  });
  test('depthwiseConv2d, padded side by side', () => {
    const filter = tf.range(0, 8).reshape([2, 2, 2, 1]) as tf.Tensor4D;
    const attrs = (dataFormat: string, pad: number[][]) => ({
      strides: [1, 1],
      pad,
      dilations: [1, 1],
      dataFormat,
    });
    const sides = [
      [1, 0],
      [0, 2],
    ];
    const none = [0, 0];
    const run = (x: tf.Tensor, values: object) =>
      tf.engine().runKernel('DepthwiseConv2dNative', { x, filter }, values as never) as tf.Tensor;
    same(
      run(toFirst(nhwc()), attrs('NCHW', [none, none, ...sides])),
      run(nhwc(), attrs('NHWC', [none, ...sides, none])),
    );
  });
  test('depthToSpace', () => {
    const x = tf.range(0, 32).reshape([1, 2, 2, 8]) as tf.Tensor4D;
    same(tf.depthToSpace(toFirst(x), 2, 'NCHW'), tf.depthToSpace(x, 2, 'NHWC'));
  });
  test('poolings of volumes', () => {
    const x = tf.range(0, 32).reshape([1, 2, 4, 2, 2]) as tf.Tensor5D;
    const first = tf.transpose(x, [0, 4, 1, 2, 3]);
    const run = (kernel: string, input: tf.Tensor, dataFormat: string) =>
      tf
        .engine()
        .runKernel(
          kernel,
          { x: input },
          { filterSize: 2, strides: 1, pad: 'valid', dataFormat },
        ) as tf.Tensor5D;
    for (const kernel of ['MaxPool3D', 'AvgPool3D']) {
      const expected = tf.transpose(run(kernel, x, 'NDHWC'), [0, 4, 1, 2, 3]);
      is(run(kernel, first, 'NCDHW'), expected.shape, Array.from(expected.dataSync()));
    }
  });
});
