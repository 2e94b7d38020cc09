import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import { onTftrt } from '../../support/tftrt';

/** Shapes by tfjs's rules: oneDNN gives what is empty the shape of its input, with nothing written into it. */
describe('an empty batch, and a window larger than the image', () => {
  onTftrt();

  const image = () => tf.zeros([0, 8, 8, 3]) as tf.Tensor4D;
  const filter = () => tf.ones([3, 3, 3, 5]) as tf.Tensor4D;
  const filterGradient = (convolve: (x: tf.Tensor4D, filter: tf.Tensor4D) => tf.Tensor) => {
    const x = tf.ones([2, 2, 2, 10]) as tf.Tensor4D;
    return tf.grad((f) => tf.sum(convolve(x, f as tf.Tensor4D)))(tf.ones([4, 2, 10, 6]));
  };
  const cases: Array<[string, () => tf.Tensor, number[]]> = [
    ['conv2d', () => tf.conv2d(image(), filter(), 2, 'same'), [0, 4, 4, 5]],
    [
      'conv2d, channels first',
      () => tf.conv2d(tf.zeros<tf.Rank.R4>([0, 3, 8, 8]), filter(), 1, 'valid', 'NCHW'),
      [0, 5, 6, 6],
    ],
    [
      'conv1d',
      () => tf.conv1d(tf.zeros<tf.Rank.R3>([0, 8, 3]), tf.ones<tf.Rank.R3>([3, 3, 5]), 1, 'same'),
      [0, 8, 5],
    ],
    ['depthwiseConv2d', () => tf.depthwiseConv2d(image(), tf.ones([3, 3, 3, 2]), 1, 'same'), [0, 8, 8, 6]],
    [
      'conv3d',
      () => tf.conv3d(tf.zeros<tf.Rank.R5>([0, 4, 8, 8, 3]), tf.ones([3, 3, 3, 3, 5]), 1, 'same'),
      [0, 4, 8, 8, 5],
    ],
    [
      'conv2dTranspose',
      () =>
        tf.conv2dTranspose(
          tf.zeros([0, 4, 4, 3]) as tf.Tensor4D,
          tf.ones([3, 3, 5, 3]),
          [0, 8, 8, 5],
          2,
          'same',
        ),
      [0, 8, 8, 5],
    ],
    [
      'fused conv2d',
      () =>
        tf.fused.conv2d({
          x: image(),
          filter: filter(),
          strides: 1,
          pad: 'same',
          bias: tf.ones([5]),
          activation: 'relu6',
        }),
      [0, 8, 8, 5],
    ],
    ['maxPool', () => tf.maxPool(image(), 2, 2, 'same') as tf.Tensor, [0, 4, 4, 3]],
    [
      'conv2d, a large window',
      () => tf.conv2d(tf.ones([1, 1, 9, 3]) as tf.Tensor4D, filter(), 1, 'valid'),
      [1, 0, 7, 5],
    ],
    [
      'conv1d, a large window',
      () => tf.conv1d(tf.ones([1, 2, 1]) as tf.Tensor3D, tf.ones([3, 1, 1]) as tf.Tensor3D, 1, 'valid'),
      [1, 0, 1],
    ],
    [
      'depthwiseConv2d, a large window',
      () =>
        tf.depthwiseConv2d(
          tf.ones([1, 6, 1, 2]) as tf.Tensor4D,
          tf.ones([2, 2, 2, 3]) as tf.Tensor4D,
          3,
          'valid',
        ),
      [1, 2, 0, 6],
    ],
    [
      'conv3d, a large window',
      () =>
        tf.conv3d(
          tf.ones([1, 3, 3, 1, 2]) as tf.Tensor5D,
          tf.ones([2, 2, 2, 2, 3]) as tf.Tensor5D,
          1,
          'valid',
        ),
      [1, 2, 2, 0, 3],
    ],
    [
      'a gradient of maxPool, a large window',
      () => tf.grad((x) => tf.sum(tf.maxPool(x as tf.Tensor4D, 2, 1, 'valid')))(tf.ones([1, 1, 3, 2])),
      [1, 1, 3, 2],
    ],
    [
      'a filter gradient',
      () => tf.grad((f) => tf.sum(tf.conv2d(image(), f as tf.Tensor4D, 1, 'same')))(filter() as tf.Tensor),
      [3, 3, 3, 5],
    ],
    [
      'a filter gradient, a large window',
      () => filterGradient((x, f) => tf.conv2d(x, f, 1, 'valid')),
      [4, 2, 10, 6],
    ],
    [
      'a filter gradient, a large window and padding side by side',
      () =>
        filterGradient((x, f) =>
          tf.conv2d(x, f, 3, [
            [0, 0],
            [0, 1],
            [2, 0],
            [0, 0],
          ]),
        ),
      [4, 2, 10, 6],
    ],
    [
      'a depthwise filter gradient, a large window',
      () => filterGradient((x, f) => tf.depthwiseConv2d(x, f, 1, 'valid')),
      [4, 2, 10, 6],
    ],
  ];
  for (const [name, run, shape] of cases) {
    it(name, () => {
      tf.tidy(() => {
        const result = run();
        expect(result.shape).to.deep.equal(shape);
        expect(Array.from(result.dataSync())).to.deep.equal(new Array(tf.util.sizeFromShape(shape)).fill(0));
      });
    });
  }
});
