import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import { errorOf, onTftrt } from '../support/tftrt';
import { upload } from './capture';

/** Wherever their operands are. */
describe('ops whose kernels for the GPU lack something run on the CPU', () => {
  onTftrt();

  /** An int32 tensor that a kernel on the GPU made. */
  const onGpu = (values: number[]) => tf.tidy(() => tf.cast(upload(tf.tensor1d(values)), 'int32'));

  for (const radius of [0, 8]) {
    it(`localResponseNormalization with a radius of ${radius}`, () => {
      const x = upload(tf.tensor4d([3, 4], [1, 1, 1, 2]));
      const sums = radius === 0 ? [9, 16] : [25, 25];
      const y = tf.tidy(() => tf.localResponseNormalization(x, radius, 0, 1, 1).dataSync());
      [3, 4].forEach((value, i) => {
        expect(y[i]).to.be.closeTo(value / sums[i]!, 1e-5);
      });
      x.dispose();
    });
  }

  it('sparseSegmentSum, which checks its indices', async () => {
    const data = upload(tf.tensor2d([1, 2, 3, 4], [2, 2]));
    const segments = onGpu([0, 0]);
    const sumOf = (indices: tf.Tensor1D) =>
      tf.tidy(() =>
        Array.from(tf.sparse.sparseSegmentSum(data, indices, segments as tf.Tensor1D).dataSync()),
      );
    const good = onGpu([0, 1]) as tf.Tensor1D;
    expect(sumOf(good)).to.deep.equal([4, 6]);
    const bad = onGpu([0, 5]) as tf.Tensor1D;
    expect((await errorOf(() => sumOf(bad))).message).to.match(/5|range/);
    tf.dispose([data, segments, good, bad]);
  });

  it('bincount with weights', () => {
    const x = onGpu([1, 1, 3]) as tf.Tensor1D;
    const weights = upload(tf.tensor1d([0.5, 1, 2]));
    expect(tf.tidy(() => Array.from(tf.bincount(x, weights as tf.Tensor1D, 4).dataSync()))).to.deep.equal([
      0, 1.5, 0, 2,
    ]);
    tf.dispose([x, weights]);
  });
});
