import assert from 'node:assert/strict';
import * as tf from '@tensorflow/tfjs';
import { onTftrt } from '../../support/tftrt';
import { tensor } from '../harness';
import { is, kernelIs, test } from './support';

describe('meaning of kernels: numbers', () => {
  onTftrt();

  test('integers are exact', () => {
    is(tf.add(tf.scalar(16_777_217, 'int32'), tf.scalar(0, 'int32')), [], [16_777_217], 'int32');
    is(tf.sum(tf.tensor1d([16_777_217, 2], 'int32')), [], [16_777_219], 'int32');
    is(tf.maximum(tf.scalar(16_777_217, 'int32'), tf.scalar(1, 'int32')), [], [16_777_217], 'int32');
  });
  test('integers wrap around', () => {
    is(tf.mul(tf.scalar(65_537, 'int32'), tf.scalar(65_537, 'int32')), [], [131_073], 'int32');
    is(tf.add(tf.scalar(2_147_483_647, 'int32'), tf.scalar(1, 'int32')), [], [-2_147_483_648], 'int32');
    is(tf.neg(tf.scalar(-2_147_483_648, 'int32')), [], [-2_147_483_648], 'int32');
  });
  test('division of integers rounds down', () => {
    const [a, b] = [tf.tensor1d([-7, 7, -7, 7], 'int32'), tf.tensor1d([2, -2, -2, 2], 'int32')];
    is(tf.div(a, b), [4], [-4, -4, 3, 3], 'int32');
    is(tf.mod(a, b), [4], [1, -1, -1, 1], 'int32');
  });
  test('division of an integer by zero is 0', () => {
    const [a, b] = [tf.tensor1d([7, 8, 0], 'int32'), tf.tensor1d([0, 3, 0], 'int32')];
    is(tf.div(a, b), [3], [0, 2, 0], 'int32');
    is(tf.divNoNan(a, b), [3], [0, 2, 0], 'int32');
    is(tf.floorDiv(a, tf.scalar(0, 'int32')), [3], [0, 0, 0], 'int32');
  });
  test('integers to negative powers', () => {
    const [a, b] = [tf.tensor1d([2, 1, -1, -1, -3], 'int32'), tf.tensor1d([-1, -3, -2, -3, 3], 'int32')];
    is(tf.pow(a, b), [5], [0, 1, 1, -1, -27], 'int32');
    is(tf.pow(tf.scalar(3, 'int32'), tf.tensor1d([2, 20], 'int32')), [2], [9, -808_182_895], 'int32');
  });
  test('rounding', () => {
    is(tf.round(tf.tensor1d([-2.5, -1.5, 0.5, 1.5, 2.5, 2.51])), [6], [-2, -2, 0, 2, 2, 3]);
    is(tf.round(tf.tensor1d([-12_345_678, 7], 'int32')), [2], [-12_345_678, 7], 'int32');
    kernelIs('Floor', { x: tensor('int32', [1], [16_777_217]) }, {}, tensor('int32', [1], [16_777_217]));
  });
  test('NaN goes on', () => {
    is(tf.max(tf.tensor1d([4, NaN, 9])), [], [NaN]);
    is(tf.min(tf.tensor1d([4, NaN, 9])), [], [NaN]);
    is(tf.maximum(tf.tensor1d([NaN, 2]), tf.tensor1d([3, NaN])), [2], [NaN, NaN]);
    is(tf.relu(tf.tensor1d([NaN, -3, 5])), [3], [NaN, 0, 5]);
    is(tf.relu6(tf.tensor1d([NaN, -3, 7])), [3], [NaN, 0, 6]);
    is(tf.clipByValue(tf.tensor1d([NaN, -3, 7]), 0, 6), [3], [NaN, 0, 6]);
    is(tf.step(tf.tensor1d([NaN, -3, 7])), [3], [NaN, 0, 1]);
    is(tf.step(tf.tensor1d([NaN, -3, 7]), 0.5), [3], [NaN, 0.5, 1]);
    is(tf.prelu(tf.tensor1d([NaN, -4, 7]), tf.tensor1d([0.5])), [3], [NaN, -2, 7]);
    is(tf.prelu(tf.tensor1d([3]), tf.tensor1d([Infinity])), [1], [3]);
  });
  test('the sign of NaN is 0', () => {
    is(tf.sign(tf.tensor1d([NaN, -3, 0, 2])), [4], [0, -1, 0, 1]);
  });
  test('all NaNs are one', () => {
    const { values, indices } = tf.unique(tf.tensor1d([NaN, 0, Infinity, NaN, -0]));
    is(values, [3], [NaN, 0, Infinity]);
    is(indices, [5], [0, 1, 2, 0, 1], 'int32');
  });
  test('casts cut off', () => {
    is(tf.cast(tf.tensor1d([-1.9, 1.9, -0.5]), 'int32'), [3], [-1, 1, 0], 'int32');
    is(tf.cast(tf.tensor1d([-0.5, 0, NaN]), 'bool'), [3], [1, 0, 1], 'bool');
    is(tf.cast(tf.complex([1, 0], [2, 3]), 'float32'), [2], [1, 0]);
    is(tf.cast(tf.tensor1d([1, 2], 'int32'), 'complex64'), [2], [1, 0, 2, 0], 'complex64');
  });
  test('integers are clipped to limits between them', () => {
    const x = tensor('int32', [5], [-9, -1, 0, 2, 2_147_483_647]);
    const attrs = { clipValueMin: -1.5, clipValueMax: Infinity };
    kernelIs('ClipByValue', { x }, attrs, tensor('int32', [5], [-1, -1, 0, 2, 2_147_483_647]));
  });
  test('truth values', () => {
    const [a, b] = [tf.tensor1d([true, true, false], 'bool'), tf.tensor1d([true, false, false], 'bool')];
    is(tf.sum(a), [], [2], 'int32');
    is(tf.cumsum(a), [3], [1, 2, 2], 'int32');
    is(tf.mean(a), [], [2 / 3]);
    is(tf.greater(a, b), [3], [0, 1, 0], 'bool');
    is(tf.equal(a, b), [3], [1, 0, 1], 'bool');
    is(tf.add(a, tf.scalar(1, 'int32')), [3], [2, 2, 1], 'int32');
    is(tf.where(a, b, tf.logicalNot(b)), [3], [1, 0, 1], 'bool');
    is(tf.where(a, tf.tensor1d([5, 6, 7]), tf.tensor1d([0.5])), [3], [5, 6, 0.5]);
    is(tf.argMax(tf.tensor1d([false, true], 'bool')), [], [1], 'int32');
    is(tf.concat([a, b]), [6], [1, 1, 0, 1, 0, 0], 'bool');
    is(tf.pad(a, [[1, 0]]), [4], [0, 1, 1, 0], 'bool');
  });
  test('bytes other than 0 are true', () => {
    for (const length of [1, 15, 16, 17, 300]) {
      const bytes = Uint8Array.from({ length }, (_, i) => (i % 3 === 0 ? 0 : i));
      const counted = tf.sum(tf.tensor1d(bytes, 'bool'));
      is(counted, [], [bytes.filter((byte) => byte !== 0).length], 'int32');
    }
  });
  test('the product of two long vectors', () => {
    const x = tf.tensor1d(Float32Array.from({ length: 300_000 }, (_, i) => (i % 3) - 1));
    is(tf.dot(x, x), [], [200_000]);
    is(tf.matMul(x.reshape([1, -1]), x.reshape([1, -1]), false, true), [1, 1], [200_000]);
    is(tf.matMul(x.reshape([-1, 1]), x.reshape([-1, 1]), true, false), [1, 1], [200_000]);
  });
  test('kernels that TensorFlow has for floats only, of integers', () => {
    const x = tensor('int32', [1, 1, 1, 3, 1], [1, 2, 3]);
    const filter = tensor('int32', [1, 1, 2, 1, 1], [1, 10]);
    const steps = { strides: [1, 1, 1], pad: 'valid', dataFormat: 'NDHWC', dilations: [1, 1, 1] };
    kernelIs('Conv3D', { x, filter }, steps, tensor('int32', [1, 1, 1, 2, 1], [21, 32]));
    kernelIs(
      'DepthwiseConv2dNative',
      { x: tensor('int32', [1, 1, 3, 1], [1, 2, 3]), filter: tensor('int32', [1, 2, 1, 1], [1, 10]) },
      { strides: [1, 1], pad: 'valid', dataFormat: 'NHWC', dilations: [1, 1] },
      tensor('int32', [1, 1, 2, 1], [21, 32]),
    );
    const ids = tensor('int32', [2], [0, 0]);
    kernelIs(
      'SparseSegmentMean',
      { data: tensor('int32', [2, 1], [4, 7]), indices: tensor('int32', [2], [0, 1]), segmentIds: ids },
      {},
      tensor('int32', [1, 1], [5]),
    );
    kernelIs(
      'Softmax',
      { logits: tensor('int32', [2], [5, 5]) },
      { dim: 0 },
      tensor('float32', [2], [0.5, 0.5]),
    );
  });
  test('kernels that TensorFlow has for numbers only, of truth values', () => {
    const [a, b] = [tensor('bool', [2, 2], [1, 0, 1, 1]), tensor('bool', [2, 2], [0, 1, 0, 0])];
    kernelIs('AddN', [a, b], {}, tensor('bool', [2, 2], [1, 1, 1, 1]));
    kernelIs('Einsum', [a, b], { equation: 'ij,jk->ik' }, tensor('bool', [2, 2], [0, 1, 0, 1]));
    kernelIs('Max', { x: a }, { reductionIndices: [0] }, tensor('bool', [2], [1, 1]));
    kernelIs(
      'TopK',
      { x: a },
      { k: 1, sorted: true },
      tensor('bool', [2, 1], [1, 1]),
      tensor('int32', [2, 1], [0, 0]),
    );
    const pool = { filterSize: 2, strides: 1, pad: 'valid' };
    kernelIs(
      'MaxPool',
      { x: tensor('bool', [1, 2, 2, 1], [0, 0, 1, 0]) },
      pool,
      tensor('bool', [1, 1, 1, 1], [1]),
    );
    kernelIs('Diag', { x: tensor('bool', [2], [1, 1]) }, {}, tensor('bool', [2, 2], [1, 0, 0, 1]));
  });
  test('complex numbers', () => {
    const a = tf.complex([1, 2], [3, 4]);
    const run = (kernel: string, inputs: object, attrs = {}) =>
      tf.engine().runKernel(kernel, inputs as never, attrs) as tf.Tensor;
    is(run('Sum', { x: a }, { axis: [0], keepDims: false }), [], [3, 7], 'complex64');
    is(
      tf.add(a.reshape([2, 1]), tf.complex([[10, 20]], [[0, 1]])),
      [2, 2],
      [11, 3, 21, 4, 12, 4, 22, 5],
      'complex64',
    );
    is(run('Transpose', { x: a.reshape([1, 2]) }, { perm: [1, 0] }), [2, 1], [1, 3, 2, 4], 'complex64');
    is(tf.concat([a, a]), [4], [1, 3, 2, 4, 1, 3, 2, 4], 'complex64');
    is(tf.abs(tf.complex([3], [4])), [1], [5]);
    // A transposed matrix is not conjugated.
    const matrix = a.reshape([1, 1, 2]);
    const product = run('BatchMatMul', { a: matrix, b: matrix }, { transposeA: false, transposeB: true });
    is(product, [1, 1, 1], [1 + 4 - 9 - 16, 6 + 16], 'complex64');
  });
  test('complex values are read in pairs', () => {
    const x = tf.complex([[1, 2]], [[3, 4]]);
    assert.deepEqual(Array.from(x.dataSync()), [1, 3, 2, 4]);
    assert.deepEqual(x.arraySync(), [[1, 3, 2, 4]]);
  });
});
