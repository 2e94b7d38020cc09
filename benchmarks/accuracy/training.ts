import * as tf from '@tensorflow/tfjs';
import { CHANNELS, CLASSES, type Images, SIDE } from './images';
import { Random } from './random';

export interface TrainingOptions {
  readonly seed: number;
  readonly batchSize: number;
  /** No epoch begins that would probably end after this many seconds. */
  readonly seconds: number;
  readonly maximumEpochs?: number;
  readonly onEpoch?: (epoch: Epoch) => void;
}

export interface Epoch {
  readonly epoch: number;
  readonly learningRate: number;
  readonly loss: number;
  readonly accuracy: number;
  readonly validationAccuracy: number;
  readonly seconds: number;
}

/** The rates of Adam, one after the other: the next one when the validation accuracy grows no more. */
const LEARNING_RATES = [1e-3, 2e-4, 4e-5];
/** Epochs without a better validation accuracy after which it counts as grown out. */
const PATIENCE = 3;
const EVALUATION_BATCH = 250;

/**
 * Trains with Adam until the validation accuracy grows no more at the lowest learning rate, or the time is up. Lowers the
 * rate in time even where the time is too short for every rate to run its course.
 */
export async function train(
  model: tf.LayersModel,
  training: Images,
  validation: Images,
  options: TrainingOptions,
): Promise<Epoch[]> {
  const started = performance.now();
  const elapsed = () => (performance.now() - started) / 1000;
  const random = new Random(options.seed);
  const xs = imageTensor(training);
  const ys = oneHot(training);
  const epochs: Epoch[] = [];
  try {
    for (const [stage, learningRate] of LEARNING_RATES.entries()) {
      const optimizer = tf.train.adam(learningRate);
      model.compile({ optimizer, loss: 'categoricalCrossentropy', metrics: ['accuracy'] });
      // The first rate may take three fifths of the time, the first two four fifths.
      const deadline = options.seconds * [0.6, 0.8, 1][stage]!;
      let best = -1;
      let sinceBest = 0;
      while (sinceBest < PATIENCE && epochs.length < (options.maximumEpochs ?? Infinity)) {
        const last = epochs.at(-1)?.seconds ?? 0;
        if (epochs.length > 0 && elapsed() + last > deadline) break;
        const begun = elapsed();
        const { loss, accuracy } = await trainEpoch(model, xs, ys, options.batchSize, random);
        const validationAccuracy = accuracyOf(await classify(model, validation), validation.labels);
        const epoch = { epoch: epochs.length + 1, learningRate, loss, accuracy, validationAccuracy };
        epochs.push({ ...epoch, seconds: elapsed() - begun });
        options.onEpoch?.(epochs.at(-1)!);
        sinceBest = validationAccuracy > best ? 0 : sinceBest + 1;
        best = Math.max(best, validationAccuracy);
      }
      optimizer.dispose();
    }
  } finally {
    tf.dispose([xs, ys]);
  }
  return epochs;
}

/** One pass over all images in random order (tfjs's own shuffling cannot be seeded), in one of their eight positions. */
async function trainEpoch(
  model: tf.LayersModel,
  xs: tf.Tensor4D,
  ys: tf.Tensor2D,
  batchSize: number,
  random: Random,
): Promise<{ loss: number; accuracy: number }> {
  const order = tf.tensor1d(random.permutation(xs.shape[0]), 'int32');
  const images = tf.tidy(() => placed(tf.gather(xs, order), random.below(8)));
  const classes = tf.gather(ys, order);
  const { history } = await model.fit(images, classes, {
    batchSize,
    epochs: 1,
    shuffle: false,
    verbose: 0,
  });
  tf.dispose([order, images, classes]);
  return { loss: history.loss!.at(-1) as number, accuracy: history.acc!.at(-1) as number };
}

/**
 * The images mirrored, upside down or turned by right angles. Figures have no preferred position, so that the classes stay,
 * and each epoch shows other images than the last.
 */
function placed(images: tf.Tensor4D, position: number): tf.Tensor4D {
  const turned = position & 4 ? tf.transpose(images, [0, 2, 1, 3]) : images;
  const axes = [position & 1 ? [1] : [], position & 2 ? [2] : []].flat();
  return axes.length > 0 ? tf.reverse(turned, axes) : turned;
}

/** Anything that gives probabilities for a batch of images. */
export interface Classifier {
  predict(images: tf.Tensor): tf.Tensor | tf.Tensor[] | tf.NamedTensorMap;
}

/** The probabilities of every class for every image, batch by batch. */
export async function classify(
  model: Classifier,
  images: Images,
  batchSize = EVALUATION_BATCH,
): Promise<Float32Array> {
  const probabilities = new Float32Array(images.count * CLASSES);
  for (let first = 0; first < images.count; first += batchSize) {
    const batch = imageTensor(images, first, Math.min(batchSize, images.count - first));
    const output = model.predict(batch) as tf.Tensor;
    probabilities.set((await output.data()) as Float32Array, first * CLASSES);
    tf.dispose([batch, output]);
  }
  return probabilities;
}

/** The most probable class of each image. */
export function topClasses(probabilities: Float32Array): Int32Array {
  return Int32Array.from({ length: probabilities.length / CLASSES }, (_, image) => {
    const row = probabilities.subarray(image * CLASSES, (image + 1) * CLASSES);
    return row.indexOf(Math.max(...row));
  });
}

/** The share of images whose most probable class is the given one. */
export function accuracyOf(probabilities: Float32Array, labels: Int32Array): number {
  return topClasses(probabilities).filter((top, image) => top === labels[image]).length / labels.length;
}

/** Some of the images as a tensor; without a range, all. */
export function imageTensor(images: Images, first = 0, count = images.count - first): tf.Tensor4D {
  const values = SIDE * SIDE * CHANNELS;
  const pixels = images.pixels.subarray(first * values, (first + count) * values);
  return tf.tensor4d(pixels, [count, SIDE, SIDE, CHANNELS]);
}

function oneHot(images: Images): tf.Tensor2D {
  return tf.tidy(() => tf.oneHot(tf.tensor1d(images.labels, 'int32'), CLASSES).toFloat() as tf.Tensor2D);
}
