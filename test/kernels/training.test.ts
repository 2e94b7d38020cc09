import assert from 'node:assert/strict';
import * as tf from '@tensorflow/tfjs';
import { live, onTftrt } from '../support/tftrt';

const SIDE = 8;
const EXAMPLES = 96;

/** Bars, upright or lying, at random places: one class each. Random numbers come from a seed, for the same examples every time. */
function examples(): { xs: tf.Tensor4D; ys: tf.Tensor2D } {
  let state = 1;
  const random = (below: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  const xs = new Float32Array(EXAMPLES * SIDE * SIDE);
  const ys = new Float32Array(EXAMPLES * 2);
  for (let example = 0; example < EXAMPLES; example++) {
    const upright = random(2);
    const place = random(SIDE);
    for (let i = 0; i < SIDE; i++) {
      const [row, column] = upright ? [i, place] : [place, i];
      xs[(example * SIDE + row) * SIDE + column] = 1;
    }
    ys[2 * example + upright] = 1;
  }
  return { xs: tf.tensor4d(xs, [EXAMPLES, SIDE, SIDE, 1]), ys: tf.tensor2d(ys, [EXAMPLES, 2]) };
}

/** A small network of every kind of layer that images need; its first weights are the same every time. */
function network(): tf.Sequential {
  const kernelInitializer = (seed: number) => tf.initializers.glorotUniform({ seed });
  return tf.sequential({
    layers: [
      tf.layers.conv2d({
        inputShape: [SIDE, SIDE, 1],
        filters: 6,
        kernelSize: 3,
        padding: 'same',
        activation: 'relu',
        kernelInitializer: kernelInitializer(1),
      }),
      tf.layers.batchNormalization(),
      tf.layers.maxPooling2d({ poolSize: 2 }),
      tf.layers.depthwiseConv2d({ kernelSize: 3, depthwiseInitializer: kernelInitializer(2) }),
      tf.layers.averagePooling2d({ poolSize: 2 }),
      tf.layers.flatten(),
      tf.layers.dense({ units: 2, activation: 'softmax', kernelInitializer: kernelInitializer(3) }),
    ],
  });
}

/** Trains, and returns the accuracy of the last epoch. */
async function train(backend: string): Promise<number> {
  await tf.setBackend(backend);
  const model = network();
  const { xs, ys } = examples();
  const optimizer = tf.train.adam(0.02);
  model.compile({ optimizer, loss: 'categoricalCrossentropy', metrics: ['accuracy'] });
  const { history } = await model.fit(xs, ys, { epochs: 8, batchSize: 16, shuffle: false, verbose: 0 });
  model.dispose();
  optimizer.dispose();
  tf.dispose([xs, ys]);
  return history.acc!.at(-1) as number;
}

describe('training', () => {
  onTftrt();

  it('reaches the accuracy that tfjs-backend-cpu reaches, and leaves nothing behind', async function () {
    this.timeout(120_000);
    const expected = await train('cpu');
    assert.ok(expected > 0.9, `tfjs-backend-cpu itself reaches only ${expected}`);
    await train('tftrt'); // tfjs keeps a few constants of its own once they were needed
    const before = live();
    const reached = await train('tftrt');
    assert.ok(reached >= expected - 0.02, `reached ${reached}, tfjs-backend-cpu ${expected}`);
    assert.deepEqual(live(), before);
  });
});
