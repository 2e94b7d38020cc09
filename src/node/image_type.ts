import { types } from 'node:util';
import { TftrtError } from '../errors';

export type ImageType = 'jpeg' | 'png' | 'bmp' | 'gif';

/** The bytes that files begin with, as TensorFlow's DecodeImage tells them apart. */
const SIGNATURES: ReadonlyArray<[ImageType, number[]]> = [
  ['jpeg', [0xff, 0xd8, 0xff]],
  ['png', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ['gif', [0x47, 0x49, 0x46, 0x38]],
  ['bmp', [0x42, 0x4d]],
];

/** Throws `TFTRT_INVALID_ARGUMENT` for what is not the bytes of a file; paths and URLs are often given instead. */
export function requireBytes(caller: string, content: unknown): void {
  if (types.isUint8Array(content)) return;
  const given =
    typeof content === 'object' && content !== null
      ? `an object (${Object.prototype.toString.call(content).slice(8, -1)})`
      : content === null
        ? 'null'
        : typeof content;
  const file =
    typeof content === 'string' ? ': to decode a file, read it first, with fs.readFileSync(path)' : '';
  throw new TftrtError(
    'TFTRT_INVALID_ARGUMENT',
    `${caller} takes the bytes of an image: expected a Uint8Array, got ${given}${file}.`,
  );
}

/** What kind of image file these are the bytes of; throws `TFTRT_INVALID_ARGUMENT` where it is none. */
export function imageType(content: Uint8Array): ImageType {
  for (const [type, signature] of SIGNATURES) {
    if (content?.length > signature.length && signature.every((byte, i) => content[i] === byte)) return type;
  }
  throw new TftrtError(
    'TFTRT_INVALID_ARGUMENT',
    'Expected image (BMP, JPEG, PNG, or GIF), but got unsupported image type',
  );
}
