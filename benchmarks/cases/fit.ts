import type { LayersModel, Tensor } from '@tensorflow/tfjs';
import { SIDES } from '../sides';
import { timesAsFast } from '../targets';
import type { Case, Side } from '../types';
import { seededFloats } from '../values';

const BATCH = 32;
const BATCHES = 25;
const SIZE = 32;
const CLASSES = 10;

/** An epoch of training: forward, backward and the optimizer, op by op. */
export const fit: Case = {
  name: 'fit',
  title: `an epoch of LayersModel.fit: ${BATCHES} batches of ${BATCH}, convnet of 4 conv layers, ${SIZE}²×3`,
  unit: 'ms',
  better: 'lower',
  sides: SIDES,
  targets: [timesAsFast(1.3)],
  async prepare({ tf }) {
    const count = BATCH * BATCHES;
    const x = tf.tensor4d(seededFloats(count * SIZE * SIZE * 3, 1), [count, SIZE, SIZE, 3]);
    const y = tf.tidy(() => {
      const classes = Array.from(seededFloats(count, 2), (value) => Math.floor(value * CLASSES));
      return tf.oneHot(tf.tensor1d(classes, 'int32'), CLASSES).toFloat();
    });
    const model = convnet(tf);
    const epoch = async (epochs = 1): Promise<number> => {
      const start = performance.now();
      await model.fit(x, y, { epochs, batchSize: BATCH, shuffle: false, verbose: 0, yieldEvery: 'never' });
      return performance.now() - start;
    };
    // Before any training: rounding errors grow from step to step.
    const output = gradientNorms(tf, model, x, y);
    // An epoch is long: it needs no settling, and each turn is one of them.
    return {
      warmUp: () => epoch(),
      turn: async () => ({ samples: [await epoch()] }),
      output: () => output,
    };
  },
};

function convnet(tf: Side['tf']): LayersModel {
  let seed = 0;
  const kernelInitializer = () => tf.initializers.heUniform({ seed: ++seed });
  const conv = (filters: number, inputShape?: number[]) =>
    tf.layers.conv2d({
      filters,
      kernelSize: 3,
      padding: 'same',
      activation: 'relu',
      kernelInitializer: kernelInitializer(),
      ...(inputShape === undefined ? {} : { inputShape }),
    });
  const model = tf.sequential({
    layers: [
      conv(16, [SIZE, SIZE, 3]),
      conv(16),
      tf.layers.maxPooling2d({ poolSize: 2 }),
      conv(32),
      conv(32),
      tf.layers.maxPooling2d({ poolSize: 2 }),
      tf.layers.flatten(),
      tf.layers.dense({
        units: CLASSES,
        activation: 'softmax',
        kernelInitializer: kernelInitializer(),
      }),
    ],
  });
  model.compile({ optimizer: tf.train.adam(1e-3), loss: 'categoricalCrossentropy' });
  return model;
}

/** The loss on one batch, and for each weight the size of its gradient. */
function gradientNorms(tf: Side['tf'], model: LayersModel, x: Tensor, y: Tensor): number[] {
  return tf.tidy(() => {
    const [batch, labels] = [x.slice(0, BATCH), y.slice(0, BATCH)];
    const loss = () =>
      tf.metrics
        .categoricalCrossentropy(labels, model.apply(batch) as Tensor)
        .mean()
        .asScalar();
    const { value, grads } = tf.variableGrads(loss);
    const norms = Object.values(grads).map((gradient) => tf.norm(gradient).dataSync()[0]!);
    return [value.dataSync()[0]!, ...norms];
  });
}
