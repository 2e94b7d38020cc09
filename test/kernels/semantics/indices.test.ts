import assert from 'node:assert/strict';
import * as tf from '@tensorflow/tfjs';
import { onTftrt } from '../../support/tftrt';
import { is, test } from './support';

describe('meaning of kernels: indices', () => {
  onTftrt();

  test('maxima in any order', () => {
    const { values, indices } = tf.topk(tf.tensor1d([3, 9, 1, 7]), 3, false);
    const pairs = Array.from(values.dataSync(), (value, i) => `${value}@${indices.dataSync()[i]}`);
    assert.deepEqual(pairs.sort(), ['3@0', '7@3', '9@1']);
  });
  test('the largest comes after NaN', () => {
    const { values, indices } = tf.topk(tf.tensor1d([2, NaN, 5, 1]), 2);
    is(values, [2], [NaN, 5]);
    is(indices, [2], [1, 2], 'int32');
  });
  test('argMax and argMin take one axis, and prelu no complex values', () => {
    const x = tf.ones([2, 3, 4]);
    assert.throws(() => tf.argMax(x, [] as never), { code: 'TFTRT_INVALID_ARGUMENT' });
    assert.throws(() => tf.argMin(x, [0, 2] as never), /axes are \[0,2\] of the shape \[2,3,4\]/);
    is(tf.argMax(tf.tensor2d([[1, 2, 0]]), [1] as never), [1], [1], 'int32');
    assert.throws(() => tf.prelu(tf.complex([1], [2]), tf.tensor1d([1])), /complex64/);
  });
  test('gather refuses what is out of range', () => {
    assert.throws(
      () => tf.gather(tf.tensor1d([10, 20, 30]), tf.tensor1d([1, 5], 'int32')),
      /index value 5 is not in \[0, 2\]/,
    );
    assert.throws(
      () => tf.gather(tf.tensor1d([10, 20, 30]), tf.tensor1d([-1], 'int32')),
      /index value -1 is not in/,
    );
  });
  test('unsortedSegmentSum drops negative segments', () => {
    const ids = tf.tensor1d([0, -1, 1, 0], 'int32');
    is(tf.unsortedSegmentSum(tf.tensor1d([1, 2, 4, 8]), ids, 2), [2], [9, 4]);
    is(tf.unsortedSegmentSum(tf.tensor1d([1, 2, 4, 8], 'int32'), ids, 2), [2], [9, 4], 'int32');
  });
  test('scatterND takes single indices', () => {
    const y = tf.scatterND(tf.tensor1d([0, 2, 0], 'int32'), tf.tensor1d([1, 2, 3]), [4]);
    is(y, [4], [4, 0, 2, 0]);
  });
  test('slices with steps, and backwards', () => {
    const x = tf.range(0, 6).reshape([2, 3]);
    is(tf.stridedSlice(x, [0, 0], [0, 0], [1, 2], 0, 2, 0, 0, 1), [2], [0, 2]);
    is(tf.stridedSlice(x, [1, 2], [0, 0], [-1, -2], 0, 3), [2, 2], [5, 3, 2, 0]);
    is(tf.stridedSlice(x, [0, 2], [2, 1], [1, 1]), [2, 0], []);
  });
  test('ranges', () => {
    is(tf.range(5, 0), [5], [5, 4, 3, 2, 1]);
    is(tf.range(0, 5, -1), [0], []);
    is(tf.range(0, 1, 0.25), [4], [0, 0.25, 0.5, 0.75]);
    is(tf.range(3, 9, 3, 'int32'), [2], [3, 6], 'int32');
  });
  test('long ranges have the numbers of short ones', () => {
    const ranges: Array<[start: number, stop: number, step: number, dtype?: 'int32']> = [
      [0, 5000, 1],
      [0, 1, 1e-4],
      [-200, 1300.3, 0.7],
      [5, -3000, 1],
      [16_777_000, 16_779_000, 1],
      [10, 100_000, 7, 'int32'],
      [5, -3000, -2, 'int32'],
      [0.5, 3000, 1, 'int32'],
      [2_147_000_000, 2_147_002_000, 1, 'int32'],
    ];
    for (const [start, stop, step, dtype] of ranges) {
      const by = stop < start && step === 1 ? -1 : step;
      const numbers = [start];
      for (let i = 1; i < Math.ceil((stop - start) / by); i++) numbers.push(numbers[i - 1]! + by);
      const expected = dtype === 'int32' ? Int32Array.from(numbers) : Float32Array.from(numbers);
      assert.deepEqual(tf.range(start, stop, step, dtype).dataSync(), expected, `${start} to ${stop}`);
    }
  });
  test('searchSorted', () => {
    const sequence = tf.tensor1d([1, 3, 3, 5]);
    const values = tf.tensor1d([0, 3, 6]);
    is(tf.searchSorted(sequence, values, 'left'), [1, 3], [0, 1, 4], 'int32');
    is(tf.searchSorted(sequence, values, 'right'), [1, 3], [0, 3, 4], 'int32');
  });
  test('einsum', () => {
    const x = tf.tensor2d([1, 2, 3, 4], [2, 2]);
    is(tf.einsum('ij,jk->ik', x, x), [2, 2], [7, 10, 15, 22]);
    is(tf.einsum(' ij -> ji ', x), [2, 2], [1, 3, 2, 4]);
  });
});
