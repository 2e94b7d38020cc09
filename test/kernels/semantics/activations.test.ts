import * as tf from '@tensorflow/tfjs';
import { onTftrt } from '../../support/tftrt';
import { is, test } from './support';

describe('meaning of kernels: fused activations', () => {
  onTftrt();

  const x = () => tf.tensor4d([-1, 2, -3, 4, -1, 2, -3, 4], [1, 1, 4, 2]);
  const identity = () => tf.tensor4d([1, 0, 0, 1], [1, 1, 2, 2]);
  const activated = (activation: tf.fused.Activation, more: object = {}) =>
    tf.fused.conv2d({ x: x(), filter: identity(), strides: 1, pad: 'valid', activation, ...more });
  const sigmoid = (value: number) => 1 / (1 + Math.exp(-value));
  const cases: Array<[tf.fused.Activation, object, (value: number, channel: number) => number]> = [
    ['linear', {}, (value) => value],
    ['relu', {}, (value) => Math.max(value, 0)],
    ['relu6', {}, (value) => Math.min(Math.max(value, 0), 6)],
    ['elu', {}, (value) => (value < 0 ? Math.expm1(value) : value)],
    ['sigmoid', {}, sigmoid],
    ['leakyrelu', { leakyreluAlpha: 0.25 }, (value) => (value < 0 ? value / 4 : value)],
  ];
  for (const [activation, more, reference] of cases) {
    test(activation!, () =>
      is(activated(activation, more), [1, 1, 4, 2], Array.from(x().dataSync(), reference)),
    );
  }
  test('prelu', () => {
    const y = activated('prelu', { preluActivationWeights: tf.tensor1d([0.5, 0.1]) });
    is(y, [1, 1, 4, 2], [-0.5, 2, -1.5, 4, -0.5, 2, -1.5, 4]);
  });
  test('matMul with a bias', () => {
    const y = tf.fused.matMul({
      a: tf.tensor2d([1, -2], [1, 2]),
      b: tf.tensor2d([1, 0, 0, 1], [2, 2]),
      bias: tf.tensor1d([1, 1]),
      activation: 'leakyrelu',
      leakyreluAlpha: 0.5,
    });
    is(y, [1, 2], [2, -0.5]);
  });
});
