import assert from 'node:assert/strict';
import * as tf from '@tensorflow/tfjs';
import { onTftrt } from '../../support/tftrt';
import { tensor } from '../harness';
import { is, kernelIs, test } from './support';

describe('meaning of kernels: sparse, ragged, strings, spectra', () => {
  onTftrt();

  test('sparseFillEmptyRows', () => {
    const filled = tf.sparse.sparseFillEmptyRows(
      [
        [0, 0],
        [2, 1],
      ],
      [7, 8],
      [3, 2],
      -1,
    );
    is(filled.outputIndices!, [3, 2], [0, 0, 1, 0, 2, 1], 'int32');
    is(filled.outputValues!, [3], [7, -1, 8]);
    is(filled.emptyRowIndicator!, [3], [0, 1, 0], 'bool');
    is(filled.reverseIndexMap!, [2], [0, 2], 'int32');
  });
  test('sparseSegmentMean and sparseSegmentSum', () => {
    const data = tf.tensor2d([1, 2, 3, 4, 5, 6], [3, 2]);
    const [indices, ids] = [tf.tensor1d([0, 2, 1], 'int32'), tf.tensor1d([0, 0, 1], 'int32')];
    is(tf.sparse.sparseSegmentMean(data, indices, ids), [2, 2], [3, 4, 3, 4]);
    is(tf.sparse.sparseSegmentSum(data, indices, ids), [2, 2], [6, 8, 3, 4]);
  });
  test('denseBincount: whether, not how often', () => {
    const x = tf.tensor2d([0, 1, 1, 3], [2, 2], 'int32');
    is(tf.denseBincount(x, [], 4, true), [2, 4], [1, 1, 0, 0, 0, 1, 0, 1]);
  });
  test('ragged tensors', () => {
    const [splits, values] = [tensor('int32', [4], [0, 2, 2, 5]), tensor('float32', [5], [1, 2, 3, 4, 5])];
    kernelIs(
      'RaggedGather',
      { paramsNestedSplits: [splits], paramsDenseValues: values, indices: tensor('int32', [2], [2, 0]) },
      { outputRaggedRank: 1 },
      tensor('int32', [3], [0, 3, 5]),
      tensor('float32', [5], [3, 4, 5, 1, 2]),
    );
    kernelIs(
      'RaggedRange',
      {
        starts: tensor('int32', [2], [0, 5]),
        limits: tensor('int32', [2], [3, 4]),
        deltas: tensor('int32', [2], [1, -1]),
      },
      {},
      tensor('int32', [3], [0, 3, 4]),
      tensor('int32', [4], [0, 1, 2, 5]),
    );
    kernelIs(
      'RaggedTensorToTensor',
      {
        shape: tensor('int32', [2], [2, 4]),
        values: tensor('float32', [3], [1, 2, 3]),
        defaultValue: tensor('float32', [], [0]),
        rowPartitionTensors: [tensor('int32', [3], [0, 2, 3])],
      },
      { rowPartitionTypes: ['ROW_SPLITS'] },
      tensor('float32', [2, 4], [1, 2, 0, 0, 3, 0, 0, 0]),
    );
  });
  test('stringSplit', () => {
    const split = tf.string.stringSplit(tf.tensor1d(['a b c', 'd']), ' ');
    is(split.indices!, [4, 2], [0, 0, 0, 1, 0, 2, 1, 0], 'int32');
    assert.deepEqual(split.values!.dataSync(), ['a', 'b', 'c', 'd']);
    is(split.shape!, [2], [2, 3], 'int32');
  });
  test('stringToHashBucketFast', () => {
    is(tf.string.stringToHashBucketFast(['Hello', 'TensorFlow', '2.x'], 3), [3], [0, 2, 2], 'int32');
  });
  test('strings of any script', () => {
    const x = tf.tensor1d(['żółw', '日本', '']);
    assert.deepEqual(tf.slice(x, [1], [2]).dataSync(), ['日本', '']);
    assert.deepEqual(tf.concat([x, x]).dataSync(), ['żółw', '日本', '', 'żółw', '日本', '']);
    is(tf.equal(x, tf.tensor1d(['żółw', 'x', ''])), [3], [1, 0, 1], 'bool');
    assert.deepEqual(tf.tile(tf.tensor1d(['ż', 'b']), [2]).dataSync(), ['ż', 'b', 'ż', 'b']);
    assert.deepEqual(tf.fill([2], 'ł').dataSync(), ['ł', 'ł']);
  });
  test('a transform whose size is no power of two', () => {
    const half = Math.sqrt(3);
    const y = tf.spectral.fft(tf.complex([1, 2, 4], [0, 0, 0]));
    is(y, [3], [7, 0, -2, half, -2, -half], 'complex64');
  });
});
