import { join } from 'node:path';
import type { CustomCallback } from '@tensorflow/tfjs';
import { type Case, type Context, casesOf, type EventFiles } from '../types';

interface Training {
  readonly dataset?: boolean;
  readonly validation?: boolean;
  readonly useBias?: boolean;
}

/** A training in which nothing is left to chance. */
async function train({ tf }: Context, callback: CustomCallback, how: Training = {}) {
  const { dataset = false, validation = true, useBias = true } = how;
  const random = (seed: number) => tf.initializers.randomUniform({ minval: -1, maxval: 1, seed });
  const model = tf.sequential({
    layers: [
      tf.layers.dense({ units: 2, inputShape: [3], kernelInitializer: random(1), useBias, name: 'first' }),
      tf.layers.dense({ units: 1, kernelInitializer: random(2), useBias, name: 'second' }),
    ],
  });
  model.compile({ loss: 'meanSquaredError', optimizer: tf.train.sgd(0.01), metrics: ['mae'] });
  const xs = tf.tensor2d(
    Array.from({ length: 24 }, (_, i) => (i % 7) / 7),
    [8, 3],
  );
  const ys = tf.tensor2d(
    Array.from({ length: 8 }, (_, i) => (i % 3) / 3),
    [8, 1],
  );
  const options = { epochs: 3, callbacks: callback, verbose: 0 as const };
  if (dataset) {
    const data = tf.data.zip({ xs: tf.data.array([...rows(xs)]), ys: tf.data.array([...rows(ys)]) }).batch(4);
    await model.fitDataset(data as never, {
      ...options,
      ...(validation && { validationData: data as never }),
    });
  } else {
    await model.fit(xs, ys, {
      ...options,
      batchSize: 4,
      shuffle: false,
      ...(validation && { validationData: [xs, ys] }),
    });
  }
}

function rows(matrix: { arraySync(): unknown }): number[][] {
  return matrix.arraySync() as number[][];
}

const logged =
  (part: 'train' | 'val', args?: object, how?: Parameters<typeof train>[2]) =>
  async (context: Context): Promise<EventFiles> => {
    await train(context, context.tf.node.tensorBoard(context.folder, args as never), how);
    return { eventFiles: join(context.folder, part) };
  };

export const tensorBoardCases: readonly Case[] = casesOf('tensorBoard', {
  'epochs, train': logged('train'),
  'epochs, val': logged('val'),
  'args: null': logged('train', null as never),
  "updateFreq: 'epoch'": logged('train', { updateFreq: 'epoch' }),
  "updateFreq: 'batch', train": logged('train', { updateFreq: 'batch' }),
  "updateFreq: 'batch', val": logged('val', { updateFreq: 'batch' }),
  'updateFreq: null': logged('train', { updateFreq: null }),
  'histogramFreq: 1': logged('train', { histogramFreq: 1 }, { useBias: false }),
  'histogramFreq: 2': logged('train', { histogramFreq: 2 }, { useBias: false }),
  'histogramFreq: 1, a bias of one number': logged('train', { histogramFreq: 1 }),
  'histogramFreq: null': logged('train', { histogramFreq: null }),
  'without validation, train': logged('train', undefined, { validation: false }),
  'without validation, no val': logged('val', undefined, { validation: false }),
  'fitDataset, train': logged('train', { updateFreq: 'batch' }, { dataset: true }),
  'fitDataset, val': logged('val', { updateFreq: 'batch' }, { dataset: true }),
  'by default into ./logs': async (context) => {
    await train(context, context.tf.node.tensorBoard());
    return { eventFiles: join(context.folder, 'logs', 'train') };
  },
  'logdir: null': async (context) => {
    const callback = context.tf.node.tensorBoard(null as never);
    return callback.logdir;
  },
  'one callback, two trainings': async (context) => {
    const callback = context.tf.node.tensorBoard(context.folder, { updateFreq: 'batch' });
    await train(context, callback);
    await train(context, callback);
    return { eventFiles: join(context.folder, 'train') };
  },
  'its logdir': ({ tf }) => [tf.node.tensorBoard('x').logdir, tf.node.tensorBoard().logdir],
  "updateFreq: 'step'": ({ tf }) => tf.node.tensorBoard('x', { updateFreq: 'step' as never }).logdir,
  'updateFreq: 5': ({ tf }) => tf.node.tensorBoard('x', { updateFreq: 5 as never }).logdir,
  'histogramFreq: -1': ({ tf }) => tf.node.tensorBoard('x', { histogramFreq: -1 }).logdir,
  'histogramFreq: 0.5': ({ tf }) => tf.node.tensorBoard('x', { histogramFreq: 0.5 }).logdir,
  "histogramFreq: '1'": ({ tf }) => tf.node.tensorBoard('x', { histogramFreq: '1' as never }).logdir,
});
