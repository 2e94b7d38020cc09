import assert from 'node:assert/strict';
import * as tf from '@tensorflow/tfjs';
import { onTftrt } from '../../support/tftrt';
import { is, test } from './support';

describe('meaning of kernels: shapes', () => {
  onTftrt();

  test('tensors without elements', () => {
    const empty = tf.zeros([0, 3]);
    is(tf.add(empty, tf.ones([3])), [0, 3], []);
    is(tf.sum(empty, 0), [3], [0, 0, 0]);
    is(tf.concat([empty, tf.ones([1, 3])]), [1, 3], [1, 1, 1]);
    is(tf.matMul(tf.zeros([2, 0]), tf.zeros([0, 3])), [2, 3], Array(6).fill(0));
    is(tf.relu(empty), [0, 3], []);
    is(tf.transpose(empty), [3, 0], []);
    is(tf.max(empty, 0), [3], [-Infinity, -Infinity, -Infinity]);
    is(tf.mean(empty, 0), [3], [NaN, NaN, NaN]);
    assert.deepEqual(Array.from(empty.dataSync()), []);
  });
  test('eight dimensions', () => {
    const shape = [2, 1, 3, 1, 2, 1, 1, 2];
    const x = tf.range(0, 24).reshape(shape);
    is(
      tf.add(x, x),
      shape,
      Array.from({ length: 24 }, (_, i) => 2 * i),
    );
    is(tf.sum(x, [0, 2, 4, 7]), [1, 1, 1, 1], [276]);
    const reversed = tf.transpose(x, [7, 6, 5, 4, 3, 2, 1, 0]);
    assert.deepEqual(reversed.shape, [2, 1, 1, 2, 1, 3, 1, 2]);
    assert.deepEqual(Array.from(reversed.dataSync()).slice(0, 4), [0, 12, 4, 16]);
    is(tf.slice(x, [1, 0, 2, 0, 1, 0, 0, 1], [1, 1, 1, 1, 1, 1, 1, 1]), Array(8).fill(1), [23]);
    assert.deepEqual(tf.tile(x, [1, 2, 1, 1, 1, 1, 1, 1]).shape, [2, 2, 3, 1, 2, 1, 1, 2]);
    assert.deepEqual(tf.concat([x, x], 3).shape, [2, 1, 3, 2, 2, 1, 1, 2]);
    assert.deepEqual(tf.pad(x, Array(8).fill([0, 1])).shape, [3, 2, 4, 2, 3, 2, 2, 3]);
    assert.deepEqual(tf.reverse(x, [0, 7]).shape, shape);
    assert.deepEqual(tf.gather(x, tf.tensor1d([1, 0], 'int32'), 2).shape, [2, 1, 2, 1, 2, 1, 1, 2]);
    assert.deepEqual(tf.stack([x, x], 8).shape, [...shape, 2]);
    assert.equal(tf.unstack(x, 2).length, 3);
    assert.deepEqual(tf.cumsum(x, 7).shape, shape);
    assert.deepEqual(tf.argMax(x, 4).shape, [2, 1, 3, 1, 1, 1, 2]);
    assert.deepEqual(tf.where(tf.greater(x, 3), x, tf.zerosLike(x)).shape, shape);
    assert.deepEqual(
      tf.mirrorPad(
        x,
        [
          [0, 0],
          [0, 0],
          [1, 1],
          [0, 0],
          [0, 0],
          [0, 0],
          [0, 0],
          [1, 0],
        ],
        'reflect',
      ).shape,
      [2, 1, 5, 1, 2, 1, 1, 3],
    );
    assert.deepEqual(
      tf.stridedSlice(x, Array(8).fill(0), shape, [1, 1, 2, 1, 1, 1, 1, 2]).shape,
      [2, 1, 2, 1, 2, 1, 1, 1],
    );
  });
  test('thousands of results of one call', () => {
    const rows = tf.unstack(tf.range(0, 3000).reshape([3000, 1]));
    assert.equal(rows.length, 3000);
    is(rows[2999]!, [1], [2999]);
    is(
      tf.stack(rows),
      [3000, 1],
      Array.from({ length: 3000 }, (_, i) => i),
    );
  });
  test('one tensor seen under two shapes in one call', () => {
    const x = tf.tensor1d([1, 2]);
    is(tf.add(x.reshape([2, 1]), x.reshape([1, 2])), [2, 2], [2, 3, 3, 4]);
    is(tf.matMul(x.reshape([1, 2]) as tf.Tensor2D, x.reshape([2, 1]) as tf.Tensor2D), [1, 1], [5]);
  });
});
