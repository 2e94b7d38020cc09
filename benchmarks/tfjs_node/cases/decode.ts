import { brokenImages, images } from '../images';
import { type Case, type Context, casesOf, type TfjsNode } from '../types';

type Decoder = 'decodeImage' | 'decodeJpeg' | 'decodePng' | 'decodeBmp' | 'decodeGif';
/** A decoder with arguments as a program in JavaScript may give them. */
type Loose = (...args: unknown[]) => unknown;

const DECODERS: readonly Decoder[] = ['decodeImage', 'decodeJpeg', 'decodePng', 'decodeBmp', 'decodeGif'];
const KIND: Readonly<Record<Decoder, RegExp>> = {
  decodeImage: /./,
  decodeJpeg: /^JPEG/,
  decodePng: /^PNG/,
  decodeBmp: /^BMP/,
  decodeGif: /^GIF/,
};
const loose = (tf: TfjsNode, decoder: Decoder) => tf.node[decoder] as Loose;

/** JPEGs as TensorFlow writes them: [gray, progressive, quality]. */
const JPEGS = {
  'JPEG, RGB': ['rgb', false],
  'JPEG, gray': ['grayscale', false],
  'JPEG, progressive': ['rgb', true],
} as const;

async function jpeg({ tf }: Context, name: keyof typeof JPEGS = 'JPEG, RGB'): Promise<Uint8Array> {
  const [format, progressive] = JPEGS[name];
  const [height, width, channels] = [40, 48, format === 'rgb' ? 3 : 1];
  const values = Array.from({ length: height * width * channels }, (_, i) => (i * 7 + (i % width) * 3) % 256);
  return tf.node.encodeJpeg(tf.tensor3d(values, [height, width, channels], 'int32'), format, 90, progressive);
}

const everyImage: Record<string, (context: Context) => Uint8Array | Promise<Uint8Array>> = {
  ...Object.fromEntries(Object.entries(images).map(([name, file]) => [name, () => file])),
  ...Object.fromEntries(
    Object.keys(JPEGS).map((name) => [name, (context: Context) => jpeg(context, name as keyof typeof JPEGS)]),
  ),
};

/** Every image by every decoder, with as many channels as it has; by its own decoder, with other numbers of them too. */
const byImage = DECODERS.flatMap((decoder) =>
  Object.entries(everyImage).flatMap(([name, file]) => {
    const channels =
      KIND[decoder].test(name) && decoder !== 'decodeGif' ? [undefined, 1, 2, 3, 4] : [undefined];
    return channels.flatMap((wanted) =>
      casesOf(decoder, {
        [`${name}${wanted === undefined ? '' : `, ${wanted} channels`}`]: async (context) =>
          loose(context.tf, decoder)(await file(context), ...(wanted === undefined ? [] : [wanted])),
      }),
    );
  }),
);

const byBrokenImage = DECODERS.flatMap((decoder) =>
  casesOf(
    decoder,
    Object.fromEntries(
      Object.entries(brokenImages).map(([name, file]) => [name, ({ tf }) => loose(tf, decoder)(file)]),
    ),
  ),
);

const CONTENTS: Readonly<Record<string, unknown>> = {
  undefined: undefined,
  null: null,
  'a string': 'BM',
  'a list of numbers': [...images['PNG, RGB']],
  'an ArrayBuffer': new Uint8Array(images['PNG, RGB']).buffer,
  'a Uint8ClampedArray': new Uint8ClampedArray(images['PNG, RGB']),
  'a part of a larger array': new Uint8Array([0, 0, ...images['PNG, RGB'], 0]).subarray(2, -1),
};
const byContent = (['decodeImage', 'decodePng'] as const).flatMap((decoder) =>
  casesOf(
    decoder,
    Object.fromEntries(
      Object.entries(CONTENTS).map(([name, content]) => [
        `the content is ${name}`,
        ({ tf }) => loose(tf, decoder)(content),
      ]),
    ),
  ),
);

/** Arguments after the content, for its PNG or for a JPEG. */
const withArguments = (decoder: Decoder, calls: Readonly<Record<string, readonly unknown[]>>) =>
  casesOf(
    decoder,
    Object.fromEntries(
      Object.entries(calls).map(([name, args]) => [
        name,
        async (context) =>
          loose(context.tf, decoder)(
            decoder === 'decodeJpeg'
              ? await jpeg(context)
              : images[decoder === 'decodeBmp' ? 'BMP, 24 bits' : 'PNG, RGB'],
            ...args,
          ),
      ]),
    ),
  );

const channelArguments = {
  'channels: 5': [5],
  'channels: -1': [-1],
  'channels: 1.5': [1.5],
  "channels: '3'": ['3'],
  'channels: null': [null],
  'channels: NaN': [Number.NaN],
  'channels: true': [true],
};

const truncated = (name: string, part: number, args: readonly unknown[]) =>
  casesOf('decodeJpeg', {
    [name]: async (context) => {
      const file = await jpeg(context);
      return loose(context.tf, 'decodeJpeg')(file.subarray(0, Math.floor(file.length * part)), ...args);
    },
  });

export const decodeCases: readonly Case[] = [
  ...byImage,
  ...byBrokenImage,
  ...byContent,
  ...(['decodeImage', 'decodeJpeg', 'decodePng', 'decodeBmp'] as const).flatMap((decoder) =>
    withArguments(decoder, channelArguments),
  ),
  ...(['decodeImage', 'decodePng'] as const).flatMap((decoder) =>
    withArguments(decoder, {
      "dtype: 'int32'": [3, 'int32'],
      "dtype: 'float32'": [3, 'float32'],
      'dtype: undefined': [3, undefined],
      'dtype: null': [3, null],
    }),
  ),
  ...casesOf('decodeImage', {
    'animated GIF, expandAnimations: false': ({ tf }) =>
      tf.node.decodeImage(images['GIF, animated'], 0, 'int32', false),
    'GIF of one frame, expandAnimations: false': ({ tf }) =>
      tf.node.decodeImage(images['GIF, one frame'], 0, 'int32', false),
    'animated GIF, 1 channel, expandAnimations: false': ({ tf }) =>
      tf.node.decodeImage(images['GIF, animated'], 1, 'int32', false),
    'PNG, expandAnimations: false': ({ tf }) => tf.node.decodeImage(images['PNG, RGB'], 0, 'int32', false),
    'half an animated GIF, expandAnimations: false': ({ tf }) =>
      tf.node.decodeImage(brokenImages['half a GIF'], 0, 'int32', false),
    'within tidy, nothing is left': ({ tf }) => {
      const before = tf.memory().numTensors;
      tf.tidy(() => void tf.node.decodeImage(images['PNG, RGB']));
      return tf.memory().numTensors - before;
    },
    'makes one tensor': ({ tf }) => {
      const before = tf.memory().numTensors;
      tf.node.decodeImage(images['GIF, animated'], 0, 'int32', false);
      return tf.memory().numTensors - before;
    },
  }),
  ...withArguments('decodeJpeg', {
    'ratio: 2': [0, 2],
    'ratio: 4': [3, 4],
    'ratio: 8': [1, 8],
    'ratio: 3': [0, 3],
    'ratio: 0': [0, 0],
    'ratio: null': [0, null],
    'ratio: 1.5': [0, 1.5],
    'fancyUpscaling: false': [0, 1, false],
    'fancyUpscaling: null': [0, 1, null],
    'fancyUpscaling: 1': [0, 1, 1],
    'acceptableFraction: 0': [0, 1, true, true, 0],
    'acceptableFraction: -1': [0, 1, true, true, -1],
    'acceptableFraction: null': [0, 1, true, true, null],
    "dctMethod: 'INTEGER_FAST'": [0, 1, true, false, 1, 'INTEGER_FAST'],
    "dctMethod: 'INTEGER_ACCURATE'": [0, 1, true, false, 1, 'INTEGER_ACCURATE'],
    "dctMethod: 'FLOAT'": [0, 1, true, false, 1, 'FLOAT'],
    'dctMethod: null': [0, 1, true, false, 1, null],
    'all undefined': [undefined, undefined, undefined, undefined, undefined, undefined],
  }),
  ...truncated('half a JPEG', 0.5, []),
  ...truncated('half a JPEG, tryRecoverTruncated', 0.5, [0, 1, true, true]),
  ...truncated('half a JPEG, tryRecoverTruncated, acceptableFraction: 0.1', 0.5, [0, 1, true, true, 0.1]),
  ...truncated('half a JPEG, tryRecoverTruncated, acceptableFraction: 0.9', 0.5, [0, 1, true, true, 0.9]),
  ...truncated('90 % of a JPEG, tryRecoverTruncated, acceptableFraction: 0.5', 0.9, [0, 1, true, true, 0.5]),
  ...truncated('a tenth of a JPEG', 0.1, []),
];
