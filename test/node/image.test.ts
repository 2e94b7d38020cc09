import { expect } from 'chai';
import * as tf from 'tfjs-backend-tftrt/node';
import { bmp, gif, png } from '../support/image_files';
import { cleanErrorOf, errorOf, live, onTftrt } from '../support/tftrt';

const { node } = tf;
const RED_BLUE = [255, 0, 0, 0, 0, 255];
const PALETTE = [
  [10, 20, 30],
  [40, 50, 60],
  [70, 80, 90],
  [255, 255, 255],
];

interface Decoded {
  shape: number[];
  dtype: string;
  values: number[];
}

function decoded(image: tf.Tensor): Decoded {
  const { shape, dtype } = image;
  const values = [...image.dataSync()];
  image.dispose();
  return { shape, dtype, values };
}

const int32 = (shape: number[], values: number[]): Decoded => ({ shape, dtype: 'int32', values });

describe('tf.node: images', () => {
  onTftrt();

  const gray16 = png(2, 1, 1, 16, [0x1234, 0xff00]);
  const rgb = png(2, 1, 3, 8, RED_BLUE);
  const animated = gif(2, 1, PALETTE, [
    [0, 1],
    [2, 3],
  ]);
  const frames = [10, 20, 30, 40, 50, 60, 70, 80, 90, 255, 255, 255];
  const cases: Array<[string, () => tf.Tensor, Decoded]> = [
    ['a PNG', () => node.decodePng(rgb), int32([1, 2, 3], RED_BLUE)],
    ['a PNG with alpha', () => node.decodePng(png(1, 1, 4, 8, [1, 2, 3, 4])), int32([1, 1, 4], [1, 2, 3, 4])],
    [
      'a PNG with alpha, 3 channels wanted',
      () => node.decodePng(png(1, 1, 4, 8, [1, 2, 3, 4]), 3),
      int32([1, 1, 3], [1, 2, 3]),
    ],
    ['a grayscale PNG', () => node.decodeImage(png(2, 1, 1, 8, [7, 9])), int32([1, 2, 1], [7, 9])],
    [
      'a grayscale PNG in colour',
      () => node.decodeImage(png(1, 1, 1, 8, [7]), 3),
      int32([1, 1, 3], [7, 7, 7]),
    ],
    ['a PNG with a fraction for the channels', () => node.decodePng(rgb, 3.9), int32([1, 2, 3], RED_BLUE)],
    ['a PNG of 16 bits to its high bytes', () => node.decodeImage(gray16), int32([1, 2, 1], [0x12, 0xff])],
    ['a BMP', () => node.decodeBmp(bmp(2, 1, RED_BLUE)), int32([1, 2, 3], RED_BLUE)],
    ['a BMP of two rows', () => node.decodeImage(bmp(1, 2, RED_BLUE)), int32([2, 1, 3], RED_BLUE)],
    ['an animated GIF', () => node.decodeGif(animated), int32([2, 1, 2, 3], frames)],
    ['an animated GIF as an image', () => node.decodeImage(animated), int32([2, 1, 2, 3], frames)],
    [
      'its first frame',
      () => node.decodeImage(animated, 0, 'int32', false),
      int32([1, 2, 3], frames.slice(0, 6)),
    ],
  ];
  for (const [name, decode, expected] of cases) {
    it(`decodes ${name}`, () => {
      const before_ = live();
      expect(decoded(decode())).to.deep.equal(expected);
      expect(live()).to.deep.equal(before_);
    });
  }

  it('leaves tensors to tidy', () => {
    const before_ = live();
    tf.tidy(() => void node.decodeImage(rgb));
    expect(live()).to.deep.equal(before_);
  });

  it('decodes JPEGs with the arguments', async () => {
    const gradient = tf.tidy(() => tf.range(0, 256).reshape([16, 16, 1]).tile([1, 1, 3])) as tf.Tensor3D;
    const jpeg = await node.encodeJpeg(gradient);
    const original = gradient.dataSync();
    const whole = decoded(node.decodeJpeg(jpeg));
    expect(whole.shape).to.deep.equal([16, 16, 3]);
    expect(Math.max(...whole.values.map((value, i) => Math.abs(value - original[i]!)))).to.be.below(8);
    expect(decoded(node.decodeImage(jpeg))).to.deep.equal(whole);
    expect(decoded(node.decodeJpeg(jpeg, 1)).shape).to.deep.equal([16, 16, 1]);
    expect(decoded(node.decodeJpeg(jpeg, 3, 4)).shape).to.deep.equal([4, 4, 3]);
    const fast = decoded(node.decodeJpeg(jpeg, 0, 1, false, false, 1, 'INTEGER_ACCURATE'));
    expect(fast.shape).to.deep.equal([16, 16, 3]);
    const cut = jpeg.slice(0, jpeg.length - 40);
    expect((await cleanErrorOf(() => node.decodeJpeg(cut))).code).to.equal('TFTRT_INVALID_ARGUMENT');
    expect(decoded(node.decodeJpeg(cut, 0, 1, true, true, 0.1)).shape).to.deep.equal([16, 16, 3]);
    gradient.dispose();
  });

  it('encodes JPEGs with the arguments', async () => {
    const image = tf.randomUniform([32, 32, 3], 0, 255, 'int32', 3) as tf.Tensor3D;
    const plain = await node.encodeJpeg(image);
    const before_ = live();
    expect([...plain.slice(0, 3)]).to.deep.equal([0xff, 0xd8, 0xff]);
    // JFIF: the unit (1: inch, 2: cm), then the densities.
    expect([...plain.slice(13, 18)], 'defaults').to.deep.equal([1, 1, 44, 1, 44]);
    const dense = await node.encodeJpeg(image, 'rgb', 20, true, true, false, 'cm', 10, 20, 'some metadata');
    expect([...dense.slice(13, 18)]).to.deep.equal([2, 0, 10, 0, 20]);
    expect(Buffer.from(dense).includes('some metadata')).to.equal(true);
    expect(Buffer.from(dense).includes(Buffer.from([0xff, 0xc2])), 'progressive').to.equal(true);
    expect((await node.encodeJpeg(image, '', 10)).length).to.be.below(plain.length);
    expect(live()).to.deep.equal(before_);
    image.dispose();
  });

  it('encodes PNGs with the compression', async () => {
    const image = tf.zeros([64, 64, 3], 'int32') as tf.Tensor3D;
    const [stored, smallest] = [await node.encodePng(image, 0), await node.encodePng(image, 9)];
    expect(stored.length).to.be.above(64 * 64 * 3);
    expect(smallest.length).to.be.below(1000);
    expect(await node.encodePng(image), 'the default').to.deep.equal(await node.encodePng(image, 1));
    expect(await node.encodePng(image, 9.99), 'a fraction').to.deep.equal(smallest);
    image.dispose();
  });

  it('encodes numbers as a Uint8Array takes them', async () => {
    const image = tf.tensor3d([256, -1, 254.9, 128], [1, 4, 1]);
    expect(decoded(node.decodePng(await node.encodePng(image))).values).to.deep.equal([0, 255, 254, 128]);
    image.dispose();
  });

  const one = () => tf.tensor3d([[[1]]]);
  const notAnImage = 'Expected image (BMP, JPEG, PNG, or GIF), but got unsupported image type';
  const onlyInt32 = 'decodeImage could only return Tensor of type `int32` for now.';
  const failures: Array<[string, () => unknown, string]> = [
    ['no image', () => node.decodeImage(Buffer.from('no image')), notAnImage],
    ['no bytes', () => node.decodeImage(new Uint8Array(0)), notAnImage],
    [
      'a path',
      () => node.decodeImage('/tmp/a.png' as never),
      'decodeImage takes the bytes of an image: expected a Uint8Array, got string: to decode a file, read it first',
    ],
    [
      'an ArrayBuffer',
      () => node.decodeImage(new ArrayBuffer(8) as never),
      'expected a Uint8Array, got an object (ArrayBuffer).',
    ],
    ['a path for a PNG', () => node.decodePng('a.png' as never), 'DecodePng takes the bytes'],
    ['another dtype', () => node.decodeImage(rgb, 0, 'float32'), onlyInt32],
    ['another dtype of a PNG', () => node.decodePng(rgb, 0, 'float32'), onlyInt32],
    ['a damaged PNG', () => node.decodeImage(rgb.subarray(0, 30)), 'Invalid PNG'],
    ['a wrong number of channels', () => node.decodePng(rgb, 7), 'channels'],
    ['a JPEG with a strange ratio', () => node.decodeJpeg(rgb, 0, 3), 'ratio'],
    [
      'an image of rank 2 to encode',
      () => node.encodePng(tf.tensor2d([[1]]) as never),
      '[height, width, channels]',
    ],
    ['a PNG without rows', () => node.encodePng(tf.zeros([0, 5, 3], 'int32')), 'at least one pixel'],
    ['a JPEG without columns', () => node.encodeJpeg(tf.zeros([5, 0, 3], 'int32')), 'at least one pixel'],
    ['a quality of 101', () => node.encodeJpeg(tf.tensor3d([[[1]]]), '', 101), 'quality'],
    ['a quality that is no number', () => node.encodeJpeg(one(), '', '50' as never), "for quality, got '50'"],
    ['a NaN for the quality', () => node.encodeJpeg(one(), '', Number.NaN), 'a whole number for quality'],
    ['null for a boolean', () => node.encodeJpeg(one(), '', 95, null as never), 'a boolean for progressive'],
    ['null for a string', () => node.encodeJpeg(one(), null as never), 'a string for format, got null'],
    [
      'null for the compression',
      () => node.encodePng(one(), null as never),
      'a whole number for compression',
    ],
    ['null for the channels', () => node.decodePng(rgb, null as never), 'a whole number for channels'],
    ['1 for a boolean', () => node.decodeJpeg(rgb, 0, 1, 1 as never), 'a boolean for fancyUpscaling, got 1'],
    [
      'null for a fraction',
      () => node.decodeJpeg(rgb, 0, 1, true, true, null as never),
      'acceptableFraction',
    ],
    [
      'a tensor of strings to encode',
      () => node.encodePng(tf.tensor3d(['1'], [1, 1, 1]) as never),
      'int32, float32 or bool, got string',
    ],
    [
      'complex numbers to encode',
      () => node.encodePng(tf.complex([[[1]]], [[[0]]]) as never),
      'int32, float32 or bool, got complex64',
    ],
    ['no tensor to encode', () => node.encodePng({ shape: [1, 1, 1] } as never), 'got no tensor'],
    ['a wrong format', () => node.encodeJpeg(tf.tensor3d([[[1]]]), 'rgb'), 'channels'],
  ];
  for (const [name, fail, text] of failures) {
    it(`refuses ${name}`, async () => {
      tf.engine().startScope();
      const error = await errorOf(fail);
      tf.engine().endScope();
      expect(error.message).to.include(text);
      expect(error.code).to.equal('TFTRT_INVALID_ARGUMENT');
    });
  }
});
