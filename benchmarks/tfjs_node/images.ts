// Images of every kind that TensorFlow decodes, whole and broken.
import { bmpFile, gif, png, pngFile } from '../../test/support/image_files';

const WIDTH = 12;
const HEIGHT = 9;
/** A picture with edges and gradients, as samples of any number of channels. */
const samples = (channels: number, most = 255) =>
  Array.from({ length: WIDTH * HEIGHT * channels }, (_, i) => {
    const pixel = Math.floor(i / channels);
    const [x, y, c] = [pixel % WIDTH, Math.floor(pixel / WIDTH), i % channels];
    return Math.round((((x * 37 + y * 59 * (c + 1) + (x > 5 ? 90 : 0)) % 256) / 255) * most);
  });
const rowsOf = (bytes: number[], perRow: number) =>
  Array.from({ length: bytes.length / perRow }, (_, y) => bytes.slice(y * perRow, (y + 1) * perRow));

/** A photo program's CMYK, 12 x 9, with Adobe's marker. */
const CMYK = Buffer.from(
  '/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwANCQoLCggNCwoLDg4NDxMgFRMSEhMnHB4XIC4pMTAuKS0sMzpKPjM2RjcsLUBXQUZMTlJTUjI+WmFaUGBKUVJP/8AAFAgACQAMBEMRAE0RAFkRAEsRAP/EAB8AAAEFAQEBAQEBAAAAAAAAAAABAgMEBQYHCAkKC//EALUQAAIBAwMCBAMFBQQEAAABfQECAwAEEQUSITFBBhNRYQcicRQygZGhCCNCscEVUtHwJDNicoIJChYXGBkaJSYnKCkqNDU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6g4SFhoeIiYqSk5SVlpeYmZqio6Slpqeoqaqys7S1tre4ubrCw8TFxsfIycrS09TV1tfY2drh4uPk5ebn6Onq8fLz9PX29/j5+v/aAA4EQwBNAFkASwAAPwDnfCn8FZv/AAhn/TL9K4fStM+2bflzmvTq9Y07/jzSj/hDP+mX6V1dt4H82EP5XX2oryfwp/BXptUfB3/LOivWNO/480opfiZ/yHLL/ryX/wBDeiv/2Q==',
  'base64',
);

/** The same said to be YCCK. */
function ycck(): Buffer {
  const file = Buffer.from(CMYK);
  file[file.indexOf('Adobe') + 11] = 2;
  return file;
}

/** The rows of each of Adam7's passes over a picture of bytes. */
function adam7(bytes: number[], channels: number): number[][] {
  const passes = [
    [0, 0, 8, 8],
    [4, 0, 8, 8],
    [0, 4, 4, 8],
    [2, 0, 4, 4],
    [0, 2, 2, 4],
    [1, 0, 2, 2],
    [0, 1, 1, 2],
  ];
  return passes.flatMap(([left, top, dx, dy]) => {
    const rows: number[][] = [];
    for (let y = top!; y < HEIGHT; y += dy!) {
      const row: number[] = [];
      for (let x = left!; x < WIDTH; x += dx!) {
        const at = (y * WIDTH + x) * channels;
        row.push(...bytes.slice(at, at + channels));
      }
      if (row.length > 0) rows.push(row);
    }
    return rows;
  });
}

function damaged(file: Buffer, at: number): Buffer {
  const copy = Buffer.from(file);
  copy[at] = copy[at]! ^ 0x55;
  return copy;
}

const PALETTE = [
  [10, 20, 30],
  [40, 50, 60],
  [70, 80, 90],
  [255, 255, 255],
];
const of = (channels: number) => rowsOf(samples(channels), WIDTH * channels);
const size = { width: WIDTH, height: HEIGHT };
const paletted = { ...size, bits: 2, colour: 3, rows: rowsOf(samples(1), WIDTH / 4) };
const rgbPng = png(WIDTH, HEIGHT, 3, 8, samples(3));
const indices = samples(1, 3);
const animated = gif(WIDTH, HEIGHT, PALETTE, [indices.slice(0, 60), indices.slice(0, 60)].map(padTo));
const rgbBmp = bmpFile(WIDTH, HEIGHT, 24, of(3));

function padTo(pixels: number[], frame: number): number[] {
  return Array.from({ length: WIDTH * HEIGHT }, (_, i) => (pixels[i % pixels.length]! + frame) % 4);
}

/** Image files by what they are. JPEGs that TensorFlow writes are made in the cases. */
export const images = {
  'PNG, RGB': rgbPng,
  'PNG, RGBA': png(WIDTH, HEIGHT, 4, 8, samples(4)),
  'PNG, gray': png(WIDTH, HEIGHT, 1, 8, samples(1)),
  'PNG, gray and alpha': png(WIDTH, HEIGHT, 2, 8, samples(2)),
  'PNG, gray, 1 bit': pngFile({ ...size, bits: 1, colour: 0, rows: rowsOf(samples(1).slice(0, 18), 2) }),
  'PNG, gray, 16 bits': png(WIDTH, HEIGHT, 1, 16, samples(1, 65535)),
  'PNG, RGB, 16 bits': png(WIDTH, HEIGHT, 3, 16, samples(3, 65535)),
  'PNG, RGBA, 16 bits': png(WIDTH, HEIGHT, 4, 16, samples(4, 65535)),
  'PNG, palette': pngFile({ ...paletted, chunks: { PLTE: PALETTE.flat() } }),
  'PNG, palette with transparency': pngFile({
    ...paletted,
    chunks: { PLTE: PALETTE.flat(), tRNS: [0, 128, 255, 255] },
  }),
  'PNG, interlaced': pngFile({ ...size, bits: 8, colour: 2, rows: adam7(samples(3), 3), interlaced: true }),
  'BMP, 24 bits': rgbBmp,
  'BMP, 32 bits': bmpFile(WIDTH, HEIGHT, 32, of(4)),
  'BMP, 8 bits': bmpFile(WIDTH, HEIGHT, 8, of(1)),
  'BMP, top row first': bmpFile(WIDTH, -HEIGHT, 24, of(3)),
  'BMP, 16 bits': bmpFile(WIDTH, HEIGHT, 16, of(2)),
  'GIF, one frame': gif(WIDTH, HEIGHT, PALETTE, [padTo(indices, 0)]),
  'GIF, animated': animated,
  'JPEG, CMYK': CMYK,
  'JPEG, YCCK': ycck(),
} as const satisfies Record<string, Buffer>;

/** Files that are none, or not whole. */
export const brokenImages = {
  nothing: Buffer.alloc(0),
  'one byte': Buffer.from([0xff]),
  'three bytes of a JPEG': Buffer.from([0xff, 0xd8, 0xff]),
  'four bytes of a JPEG': Buffer.from([0xff, 0xd8, 0xff, 0xe0]),
  "a PNG's signature": rgbPng.subarray(0, 8),
  "a PNG's signature and a byte": rgbPng.subarray(0, 9),
  "a BMP's two bytes": Buffer.from('BM'),
  'three bytes of a BMP': Buffer.from('BM6'),
  "a GIF's four bytes": Buffer.from('GIF8'),
  'five bytes of a GIF': Buffer.from('GIF89'),
  text: Buffer.from('this is no image at all'),
  'a WebP': Buffer.from('RIFF\x64\0\0\0WEBPVP8 \x58\0\0\0', 'latin1'),
  'a TIFF': Buffer.from('II*\0\x08\0\0\0', 'latin1'),
  'half a PNG': rgbPng.subarray(0, rgbPng.length >> 1),
  'a PNG without its last byte': rgbPng.subarray(0, -1),
  'a PNG with a wrong checksum of its pixels': damaged(rgbPng, rgbPng.length - 14),
  'a PNG with a wrong checksum of its header': damaged(rgbPng, 30),
  'a PNG of no width': pngFile({ ...size, width: 0, bits: 8, colour: 2, rows: [] }),
  'a PNG of a colour type that there is not': pngFile({ ...size, bits: 8, colour: 5, rows: of(3) }),
  'half a BMP': rgbBmp.subarray(0, rgbBmp.length >> 1),
  'a BMP of no width': bmpFile(0, HEIGHT, 24, []),
  'half a GIF': animated.subarray(0, animated.length >> 1),
  'a GIF without its end': animated.subarray(0, -1),
  'a GIF without frames': gif(WIDTH, HEIGHT, PALETTE, []),
  'a CMYK JPEG without its end': CMYK.subarray(0, -20),
} as const satisfies Record<string, Buffer>;
