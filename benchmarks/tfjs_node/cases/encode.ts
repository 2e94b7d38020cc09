import type { Tensor } from '@tensorflow/tfjs-core';
import { type Case, type Context, casesOf, type TfjsNode } from '../types';

type Encoder = 'encodeJpeg' | 'encodePng';
type Loose = (...args: unknown[]) => unknown;
const ENCODERS: readonly Encoder[] = ['encodeJpeg', 'encodePng'];

const SHAPE: [number, number, number] = [16, 20, 3];
const values = (size: number) => Array.from({ length: size }, (_, i) => (i * 11 + (i >> 4) * 5) % 256);
const image = (tf: TfjsNode, shape: number[] = SHAPE) =>
  tf.tensor(values(shape.reduce((a, b) => a * b, 1)), shape, 'int32');
const small = (tf: TfjsNode, numbers: number[], dtype: 'int32' | 'float32' = 'float32') =>
  tf.tensor3d(numbers, [1, numbers.length / 3, 3], dtype);

const INPUTS: Readonly<Record<string, (tf: TfjsNode) => Tensor | null | undefined | object>> = {
  'RGB, int32': (tf) => image(tf),
  'RGB, float32': (tf) => image(tf).toFloat(),
  'gray, int32': (tf) => image(tf, [16, 20, 1]),
  'two channels': (tf) => image(tf, [16, 20, 2]),
  RGBA: (tf) => image(tf, [16, 20, 4]),
  'five channels': (tf) => image(tf, [16, 20, 5]),
  'one pixel': (tf) => image(tf, [1, 1, 3]),
  large: (tf) => image(tf, [300, 200, 3]),
  fractions: (tf) => small(tf, [0.2, 0.5, 0.9, 254.4, 254.5, 254.99]),
  'above 255': (tf) => small(tf, [256, 300, 511, 512, 70000, 1000]),
  'below 0': (tf) => small(tf, [-1, -0.5, -255, -256, -257, -1000]),
  'beyond int32': (tf) => small(tf, [3e9, -3e9, 1e20, -1e20, 4294967295, 2147483648]),
  'NaN and infinities': (tf) => small(tf, [Number.NaN, Infinity, -Infinity, 1, 2, 3]),
  'int32, out of range': (tf) => small(tf, [256, -1, 2147483647, -2147483648, 65536, 511], 'int32'),
  'a bool tensor': (tf) => tf.tensor3d([1, 0, 1, 0, 1, 1], [1, 2, 3], 'bool'),
  'a computed tensor': (tf) => image(tf).add(1).mod(256),
  'a variable': (tf) => tf.variable(image(tf)),
  'a string tensor': (tf) => tf.tensor3d(['1', '2', '3'], [1, 1, 3], 'string'),
  'a complex tensor': (tf) => tf.complex([[[1, 2, 3]]], [[[0, 0, 0]]]),
  'rank 2': (tf) => image(tf, [16, 20]),
  'rank 4': (tf) => image(tf, [1, 16, 20, 3]),
  'rank 4, two images': (tf) => image(tf, [2, 16, 20, 3]),
  'no rows': (tf) => image(tf, [0, 20, 3]),
  'no channels': (tf) => image(tf, [16, 20, 0]),
  null: () => null,
  undefined: () => undefined,
  'no tensor': () => ({ shape: [1, 1, 3] }),
  'a disposed tensor': (tf) => {
    const gone = image(tf);
    gone.dispose();
    return gone;
  },
};

const call = ({ tf }: Context, encoder: Encoder, args: readonly unknown[]) =>
  (tf.node[encoder] as Loose)(...args);

const byInput = ENCODERS.flatMap((encoder) =>
  casesOf(
    encoder,
    Object.fromEntries(
      Object.entries(INPUTS).map(([name, make]) => [
        name,
        (context) => call(context, encoder, [make(context.tf)]),
      ]),
    ),
  ),
);

const withArguments = (
  encoder: Encoder,
  calls: Readonly<Record<string, readonly unknown[]>>,
  shape: number[] = SHAPE,
) =>
  casesOf(
    encoder,
    Object.fromEntries(
      Object.entries(calls).map(([name, args]) => [
        name,
        (context) => call(context, encoder, [image(context.tf, shape), ...args]),
      ]),
    ),
  );

export const encodeCases: readonly Case[] = [
  ...byInput,
  ...withArguments('encodeJpeg', {
    "format: 'rgb'": ['rgb'],
    "format: 'grayscale', 3 channels": ['grayscale'],
    "format: 'cmyk'": ['cmyk'],
    'format: null': [null],
    'quality: 0': ['', 0],
    'quality: 1': ['', 1],
    'quality: 100': ['', 100],
    'quality: 101': ['', 101],
    'quality: -1': ['', -1],
    'quality: 50.7': ['', 50.7],
    'quality: NaN': ['', Number.NaN],
    'quality: null': ['', null],
    "quality: '50'": ['', '50'],
    progressive: ['', 95, true],
    'progressive: 1': ['', 95, 1],
    optimizeSize: ['', 95, false, true],
    'chromaDownsampling: false': ['', 95, false, false, false],
    'chromaDownsampling: null': ['', 95, false, false, null],
    "densityUnit: 'cm'": ['', 95, false, false, true, 'cm'],
    "densityUnit: 'px'": ['', 95, false, false, true, 'px'],
    'densities: 72, 96': ['', 95, false, false, true, 'in', 72, 96],
    'densities: 0, -1': ['', 95, false, false, true, 'in', 0, -1],
    'densities: 70000': ['', 95, false, false, true, 'in', 70000, 70000],
    'densities: 72.5': ['', 95, false, false, true, 'in', 72.5, 72.5],
    xmpMetadata: ['', 95, false, false, true, 'in', 300, 300, '<x:xmpmeta xmlns:x="adobe:ns:meta/"/>'],
    'xmpMetadata, not ASCII': ['', 95, false, false, true, 'in', 300, 300, 'żółw 日本'],
    'xmpMetadata: 70,000 characters': ['', 95, false, false, true, 'in', 300, 300, 'x'.repeat(70_000)],
    'xmpMetadata: null': ['', 95, false, false, true, 'in', 300, 300, null],
    'all undefined': Array(9).fill(undefined),
  }),
  ...withArguments(
    'encodeJpeg',
    { "format: 'grayscale', 1 channel": ['grayscale'], "format: 'rgb', 1 channel": ['rgb'] },
    [16, 20, 1],
  ),
  ...withArguments('encodePng', {
    'compression: -1': [-1],
    'compression: 0': [0],
    'compression: 9': [9],
    'compression: 10': [10],
    'compression: -2': [-2],
    'compression: 1.5': [1.5],
    'compression: NaN': [Number.NaN],
    'compression: null': [null],
    "compression: '6'": ['6'],
    'compression: undefined': [undefined],
  }),
  ...ENCODERS.flatMap((encoder) =>
    casesOf(encoder, {
      'returns a Uint8Array': async (context) => {
        const bytes = await call(context, encoder, [image(context.tf)]);
        return (bytes as object).constructor.name;
      },
      'the image stays, nothing is left': async (context) => {
        const input = image(context.tf);
        const before = context.tf.memory().numTensors;
        await call(context, encoder, [input]);
        return [context.tf.memory().numTensors - before, input.isDisposed];
      },
      'what it encodes is what is decoded': async (context) => {
        const bytes = (await call(context, encoder, [
          image(context.tf),
          ...(encoder === 'encodeJpeg' ? ['', 100] : []),
        ])) as Uint8Array;
        return context.tf.node.decodeImage(bytes);
      },
    }),
  ),
];
