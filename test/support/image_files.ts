// Image files made byte by byte, for what TensorFlow has no encoder of.
import zlib from 'node:zlib';

/** A PNG of `channels` 1, 2, 3 or 4 with samples of 8 or 16 bits, row by row. */
export function png(
  width: number,
  height: number,
  channels: number,
  bits: 8 | 16,
  samples: number[],
): Buffer {
  const perRow = width * channels;
  const rows = Array.from({ length: height }, (_, y) => {
    const row = samples.slice(y * perRow, (y + 1) * perRow);
    return bits === 8 ? row : row.flatMap((sample) => [sample >> 8, sample & 255]);
  });
  return pngFile({ width, height, bits, colour: [0, 0, 4, 2, 6][channels]!, rows });
}

/** What a PNG says of itself. */
export interface PngParts {
  readonly width: number;
  readonly height: number;
  readonly bits: number;
  /** 0 gray, 2 RGB, 3 palette, 4 gray with alpha, 6 RGBA. */
  readonly colour: number;
  /** The bytes of each row; of an interlaced one, those of each pass in turn. */
  readonly rows: readonly (readonly number[])[];
  readonly interlaced?: boolean;
  /** What stands before the pixels, such as PLTE and tRNS. */
  readonly chunks?: Readonly<Record<string, readonly number[]>>;
}

export function pngFile({ width, height, bits, colour, rows, interlaced, chunks = {} }: PngParts): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([bits, colour, 0, 0, interlaced ? 1 : 0], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    ...Object.entries(chunks).map(([name, bytes]) => chunk(name, Buffer.from(bytes))),
    chunk('IDAT', zlib.deflateSync(Buffer.from(rows.flatMap((row) => [0, ...row])))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name), data]);
  return Buffer.concat([uint32(data.length, true), body, uint32(crc32(body), true)]);
}

function crc32(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

function uint32(value: number, bigEndian = false): Buffer {
  const bytes = Buffer.alloc(4);
  if (bigEndian) bytes.writeUInt32BE(value);
  else bytes.writeUInt32LE(value);
  return bytes;
}

/** A BMP of 24 bits a pixel; `rgb` row by row from the top. */
export function bmp(width: number, height: number, rgb: number[]): Buffer {
  const pixels = Array.from({ length: width * height }, (_, i) => rgb.slice(3 * i, 3 * i + 3).reverse());
  const rows = Array.from({ length: height }, (_, y) => pixels.slice(y * width, (y + 1) * width).flat());
  return bmpFile(width, height, 24, rows.reverse());
}

/** A BMP with the bytes of each row as they stand in the file; a negative height says that the first row is the top. */
export function bmpFile(width: number, height: number, bits: number, rows: readonly number[][]): Buffer {
  const stride = Math.ceil((width * bits) / 32) * 4;
  const file = Buffer.alloc(54 + stride * rows.length);
  file.write('BM');
  file.writeUInt32LE(file.length, 2);
  file.writeUInt32LE(54, 10);
  file.writeUInt32LE(40, 14);
  file.writeInt32LE(width, 18);
  file.writeInt32LE(height, 22);
  file.writeUInt16LE(1, 26);
  file.writeUInt16LE(bits, 28);
  rows.forEach((row, i) => {
    file.set(row, 54 + i * stride);
  });
  return file;
}

/** A GIF with a palette of four colours; each frame has the number of a colour for each pixel. */
export function gif(width: number, height: number, palette: number[][], frames: number[][]): Buffer {
  const size = [width & 255, width >> 8, height & 255, height >> 8];
  const images = frames.map((pixels) => [0x2c, 0, 0, 0, 0, ...size, 0, 2, ...subBlock(lzw(pixels)), 0]);
  return Buffer.from([
    ...Buffer.from('GIF89a'),
    ...size,
    0x81, // a palette of 4
    0,
    0,
    ...palette.flat(),
    ...images.flat(),
    0x3b,
  ]);
}

function subBlock(bytes: number[]): number[] {
  return [bytes.length, ...bytes];
}

/** LZW codes of 3 bits: the table is cleared before each pixel, so that it never grows. */
function lzw(pixels: number[]): number[] {
  const codes = [...pixels.flatMap((pixel) => [4, pixel]), 5];
  const bytes = new Array(Math.ceil((codes.length * 3) / 8)).fill(0);
  codes.forEach((code, i) => {
    for (let bit = 0; bit < 3; bit++) {
      const position = i * 3 + bit;
      if (code & (1 << bit)) bytes[position >> 3] |= 1 << (position & 7);
    }
  });
  return bytes;
}
