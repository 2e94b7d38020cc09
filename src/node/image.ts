import { type BackendValues, engine, type Tensor, type Tensor3D, type Tensor4D } from '@tensorflow/tfjs-core';
import { tftrtBackend } from '../backend/active';
import { type CallOperand, KernelCall } from '../backend/kernels/call';
import type { Attributes } from '../backend/op_attributes';
import { TftrtError } from '../errors';
import { imageAttributes } from './image_attributes';
import { imageType, requireBytes } from './image_type';

/**
 * Decodes a JPEG, PNG, BMP or GIF to int32 values from 0 to 255 of shape [height, width, channels]; `channels` 0 takes the
 * image's own number. A GIF has 3 channels, and all its frames in a first dimension unless `expandAnimations` is false.
 */
export function decodeImage(
  content: Uint8Array,
  channels = 0,
  dtype = 'int32',
  expandAnimations = true,
): Tensor3D | Tensor4D {
  requireInt32(dtype);
  requireBytes('decodeImage', content);
  switch (imageType(content)) {
    case 'jpeg':
      return decodeJpeg(content, channels);
    case 'png':
      return decodePng(content, channels);
    case 'bmp':
      return decodeBmp(content, channels);
    case 'gif':
      return expandAnimations ? decodeGif(content) : firstFrame(content);
  }
}

/**
 * Decodes a JPEG to int32 values of shape [height, width, channels]. `ratio`: 1, 2, 4 or 8, by which the image is reduced;
 * `dctMethod`: '', 'INTEGER_FAST' or 'INTEGER_ACCURATE'.
 */
export function decodeJpeg(
  contents: Uint8Array,
  channels = 0,
  ratio = 1,
  fancyUpscaling = true,
  tryRecoverTruncated = false,
  acceptableFraction = 1,
  dctMethod = '',
): Tensor3D {
  return decode(contents, 'DecodeJpeg', {
    channels,
    ratio,
    fancy_upscaling: fancyUpscaling,
    try_recover_truncated: tryRecoverTruncated,
    acceptable_fraction: acceptableFraction,
    dct_method: dctMethod,
  });
}

/** Decodes a PNG to int32 values of shape [height, width, channels]: from 0 to 255, also of one with 16 bits. */
export function decodePng(contents: Uint8Array, channels = 0, dtype = 'int32'): Tensor3D {
  requireInt32(dtype);
  return decode(contents, 'DecodePng', { channels });
}

/** Decodes a BMP to int32 values of shape [height, width, channels]. */
export function decodeBmp(contents: Uint8Array, channels = 0): Tensor3D {
  return decode(contents, 'DecodeBmp', { channels });
}

/** Decodes a GIF to int32 values of shape [frames, height, width, 3]. */
export function decodeGif(contents: Uint8Array): Tensor4D {
  return decode(contents, 'DecodeGif', {});
}

function firstFrame(contents: Uint8Array): Tensor3D {
  return decode(contents, 'DecodeImage', { channels: 3, expand_animations: false });
}

function requireInt32(dtype: string): void {
  if (dtype === 'int32') return;
  throw new TftrtError(
    'TFTRT_INVALID_ARGUMENT',
    'decodeImage could only return Tensor of type `int32` for now.',
  );
}

function decode<T extends Tensor>(content: Uint8Array, op: string, attributes: Attributes): T {
  requireBytes(op, content);
  const checked = imageAttributes(op, attributes);
  const backend = tftrtBackend();
  const bytes = backend.write([content] as unknown as BackendValues, [], 'string');
  const call = new KernelCall({}, {}, backend);
  try {
    const image = call.run(op, [{ dataId: bytes, shape: [], dtype: 'string' }], checked);
    return engine().makeTensorFromTensorInfo(call.result(call.cast(image, 'int32')), backend) as T;
  } finally {
    call.end();
    backend.disposeData(bytes);
  }
}

/**
 * Encodes an image of shape [height, width, 1 or 3] with values from 0 to 255 as JPEG. `format`: '' (by the number of
 * channels), 'grayscale' or 'rgb'; `quality`: 0 to 100.
 */
export function encodeJpeg(
  image: Tensor3D,
  format: '' | 'grayscale' | 'rgb' = '',
  quality = 95,
  progressive = false,
  optimizeSize = false,
  chromaDownsampling = true,
  densityUnit: 'in' | 'cm' = 'in',
  xDensity = 300,
  yDensity = 300,
  xmpMetadata = '',
): Promise<Uint8Array> {
  return encode(image, 'EncodeJpeg', {
    format,
    quality,
    progressive,
    optimize_size: optimizeSize,
    chroma_downsampling: chromaDownsampling,
    density_unit: densityUnit,
    x_density: xDensity,
    y_density: yDensity,
    xmp_metadata: xmpMetadata,
  });
}

/** Encodes an image of shape [height, width, 1 to 4] with values from 0 to 255 as PNG. `compression`: −1 (zlib's default) to 9. */
export function encodePng(image: Tensor3D, compression = 1): Promise<Uint8Array> {
  return encode(image, 'EncodePng', { compression });
}

/** What bytes are made of. */
const DTYPES: ReadonlySet<string> = new Set(['int32', 'float32', 'bool']);

async function encode(image: Tensor3D, op: string, attributes: Attributes): Promise<Uint8Array> {
  // TensorFlow's EncodePng takes batches of images too, of which only the first would be returned.
  if (image?.shape?.length !== 3) {
    throw new TftrtError(
      'TFTRT_INVALID_ARGUMENT',
      `${op} takes an image of shape [height, width, channels], got ${image?.shape ? `a tensor of shape [${image.shape}]` : typeof image}.`,
    );
  }
  // A failed check of its PNG encoder would end the process.
  if (image.size === 0) {
    throw new TftrtError(
      'TFTRT_INVALID_ARGUMENT',
      `${op} takes an image with at least one pixel, got a tensor of shape [${image.shape}].`,
    );
  }
  if (!DTYPES.has(image.dtype)) {
    throw new TftrtError(
      'TFTRT_INVALID_ARGUMENT',
      `${op} takes an image of int32, float32 or bool, got ${image.dtype ?? 'no tensor'}.`,
    );
  }
  const checked = imageAttributes(op, attributes);
  const backend = tftrtBackend();
  const call = new KernelCall({}, {}, backend);
  let encoded: ReturnType<KernelCall['result']>;
  try {
    encoded = call.result(call.run(op, [toBytes(call, image)], checked));
  } finally {
    call.end();
  }
  try {
    const [bytes] = (await backend.read(encoded.dataId)) as unknown as Uint8Array[];
    return bytes!;
  } finally {
    backend.disposeData(encoded.dataId);
  }
}

/** As a Uint8Array takes numbers: without their fraction, modulo 256. Devices differ in casts of floats that are out of range. */
function toBytes(call: KernelCall, image: Tensor3D): CallOperand {
  return call.cast(call.cast(image, 'int32'), 'uint8');
}
