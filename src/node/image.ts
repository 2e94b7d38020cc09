import { type BackendValues, engine, type Tensor3D } from '@tensorflow/tfjs-core';
import { tftrtBackend } from '../backend/active';
import { KernelCall } from '../backend/kernels/call';
import type { Attributes } from '../backend/op_attributes';

/**
 * Decodes a JPEG, PNG, BMP or the first frame of a GIF.
 * Returns int32 values from 0 to 255 of shape [height, width, channels]; `channels` 0 takes the image's own number.
 */
export function decodeImage(content: Uint8Array, channels: 0 | 1 | 3 | 4 = 3): Tensor3D {
  const backend = tftrtBackend();
  const bytes = backend.write([content] as unknown as BackendValues, [], 'string');
  const call = new KernelCall({}, {}, backend);
  try {
    const contents = { dataId: bytes, shape: [], dtype: 'string' as const };
    const image = call.run('DecodeImage', [contents], { channels, expand_animations: false });
    return engine().makeTensorFromTensorInfo(call.result(call.cast(image, 'int32'))) as Tensor3D;
  } finally {
    call.end();
    backend.disposeData(bytes);
  }
}

/** Encodes an image of shape [height, width, 1 or 3] with values from 0 to 255 as JPEG. `quality`: 0 to 100. */
export function encodeJpeg(image: Tensor3D, quality = 95): Promise<Uint8Array> {
  return encode(image, 'EncodeJpeg', { quality });
}

/** Encodes an image of shape [height, width, 1 to 4] with values from 0 to 255 as PNG. */
export function encodePng(image: Tensor3D): Promise<Uint8Array> {
  return encode(image, 'EncodePng', {});
}

async function encode(image: Tensor3D, op: string, attributes: Attributes): Promise<Uint8Array> {
  const backend = tftrtBackend();
  const call = new KernelCall({}, {}, backend);
  let encoded: ReturnType<KernelCall['result']>;
  try {
    encoded = call.result(call.run(op, [call.cast(image, 'uint8')], attributes));
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
