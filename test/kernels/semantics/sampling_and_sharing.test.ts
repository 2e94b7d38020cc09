import assert from 'node:assert/strict';
import * as tf from '@tensorflow/tfjs';
import { onTftrt } from '../../support/tftrt';
import { is, test } from './support';

describe('meaning of kernels: sampling', () => {
  onTftrt();

  const logits = () => tf.log(tf.tensor2d([0.1, 0.9, 0.7, 0.3], [2, 2]));

  test('the same seed gives the same samples, another one others', () => {
    const draw = (seed: number) => Array.from(tf.multinomial(logits() as tf.Tensor2D, 100, seed).dataSync());
    assert.deepEqual(draw(7), draw(7));
    assert.notDeepEqual(draw(7), draw(8));
    assert.notDeepEqual(draw(0.25), draw(0.75));
  });
  test('samples are as frequent as they are probable', () => {
    const samples = tf.multinomial(tf.tensor2d([0.1, 0.9, 0.7, 0.3], [2, 2]), 4000, 3, true);
    const share = tf.mean(tf.cast(samples, 'float32'), 1).dataSync();
    assert.ok(Math.abs(share[0]! - 0.9) < 0.03, `got ${share[0]}`);
    assert.ok(Math.abs(share[1]! - 0.3) < 0.03, `got ${share[1]}`);
  });
});

describe('meaning of kernels: sharing', () => {
  onTftrt();

  it('reshaped, expanded and cloned tensors, and casts to the same dtype, share the data', () => {
    tf.tidy(() => {
      const x = tf.tensor1d([1, 2, 3, 4]);
      const y = tf.relu(x);
      const { backend } = tf.engine();
      const before = backend.numDataIds();
      const aliases = [
        y.reshape([2, 2]),
        y.expandDims(0),
        y.clone(),
        y.cast('float32'),
        y.expandDims(0).squeeze(),
      ];
      for (const alias of aliases) assert.equal(alias.dataId, y.dataId);
      assert.equal(backend.numDataIds(), before);
      y.dispose();
      is(aliases[0]!, [2, 2], [1, 2, 3, 4]);
    });
  });
  it('a read goes on after the tensor is disposed of', async () => {
    const x = tf.add(tf.tensor1d([1, 2]), 1);
    const values = x.data();
    x.dispose();
    assert.deepEqual(Array.from(await values), [2, 3]);
  });
});
