import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import { onTftrt } from '../support/tftrt';
import { build, expectEngine } from './api';
import { denseModel, disorder, tensorOf } from './graphs';
import { predict } from './outcome';

/**
 * TensorRT fills the memory of an engine on a stream of its own. TensorFlow takes memory back as soon as the work that uses
 * it is enqueued: neither may get in the other's way.
 */
describe('TensorRT: engines that are loaded while the GPU has much to do', function () {
  this.timeout(600_000);
  onTftrt();

  const SIZE = 1024;
  const ROUNDS = 8;
  /** So many that the GPU is behind by some tens of milliseconds. */
  const CHAIN = 300;

  /** Moves the columns by `CHAIN`, one at a time; each step's input is disposed of when the step is enqueued. */
  function chain(values: tf.Tensor2D, step: tf.Tensor2D): tf.Tensor {
    let current: tf.Tensor = values.clone();
    for (let i = 0; i < CHAIN; i++) {
      const next = tf.matMul(current, step);
      current.dispose();
      current = next;
    }
    return current;
  }

  it('are right, and so is what it has to do', async () => {
    const x = disorder([4, SIZE], 3);
    const sample = tensorOf(x);
    const values = Float32Array.from({ length: SIZE * SIZE }, (_, i) => i % 1021);
    const moved = values.map(
      (_, i) => values[i - (i % SIZE) + (((i % SIZE) - (CHAIN % SIZE) + SIZE) % SIZE)]!,
    );
    const square = tf.tensor2d(values, [SIZE, SIZE]);
    const step = tf.tidy(() => {
      const next = Int32Array.from({ length: SIZE }, (_, i) => (i + 1) % SIZE);
      return tf.oneHot(tf.tensor1d(next, 'int32'), SIZE).toFloat() as tf.Tensor2D;
    });

    for (let round = 0; round <= ROUNDS; round++) {
      // Weights of half the size of what the chain gives back at each step, so that TensorFlow has room for them there.
      const { model, expected } = await denseModel({ inputs: SIZE, outputs: SIZE / 2 });
      let building = true;
      const built = build(model, { inputs: [sample] }).finally(() => {
        building = false;
      });
      built.catch(() => undefined); // it is awaited below
      // The first engine is built, unless the cache has it.
      for (let chains = 0; round > 0 && (building || chains === 0); chains++) {
        const result = chain(square, step);
        const wrong = (await result.data()).findIndex((value, i) => value !== moved[i]);
        expect(wrong, `round ${round}, the first wrong value of chain ${chains}`).to.equal(-1);
        result.dispose();
      }
      const report = await built;
      expectEngine(report);
      if (round > 0) expect(report.engines.every(({ fromCache }) => fromCache)).to.equal(true);
      expect((await predict(model, tensorOf(x))).values, `round ${round}`).to.deep.equal(expected(x.values));
      model.dispose();
    }
    tf.dispose([sample, square, step]);
  });
});
