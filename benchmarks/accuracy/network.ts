import * as tf from '@tensorflow/tfjs';
import { CHANNELS, CLASSES, SIDE } from './images';

/** Filters of the stages; each stage sees half the resolution of the one before. */
const STAGES = [16, 32, 64, 128];

/**
 * A residual network of eight convolutions. A stage is one convolution that changes the number of channels, and one whose
 * result is added to its input, each with batch normalisation; then the image is halved.
 */
export function makeNetwork(seed: number): tf.LayersModel {
  let layer = seed;
  const convolution = (filters: number, input: tf.SymbolicTensor) => {
    const kernelInitializer = tf.initializers.heNormal({ seed: ++layer });
    const conv = tf.layers.conv2d({
      filters,
      kernelSize: 3,
      padding: 'same',
      useBias: false,
      kernelInitializer,
    });
    const normalization = tf.layers.batchNormalization({ momentum: 0.9 });
    return normalization.apply(conv.apply(input)) as tf.SymbolicTensor;
  };
  const relu = (input: tf.SymbolicTensor) =>
    tf.layers.activation({ activation: 'relu' }).apply(input) as tf.SymbolicTensor;

  const input = tf.input({ shape: [SIDE, SIDE, CHANNELS], name: 'image' });
  let x = input;
  STAGES.forEach((filters, stage) => {
    x = relu(convolution(filters, x));
    x = relu(tf.layers.add().apply([x, convolution(filters, x)]) as tf.SymbolicTensor);
    const isLast = stage === STAGES.length - 1;
    const pool = isLast ? tf.layers.globalAveragePooling2d({}) : tf.layers.maxPooling2d({ poolSize: 2 });
    x = pool.apply(x) as tf.SymbolicTensor;
  });
  const kernelInitializer = tf.initializers.glorotUniform({ seed: ++layer });
  const dense = tf.layers.dense({ units: CLASSES, activation: 'softmax', kernelInitializer });
  return tf.model({ inputs: input, outputs: dense.apply(x) as tf.SymbolicTensor });
}
