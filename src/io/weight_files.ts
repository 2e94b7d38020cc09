import fs from 'node:fs/promises';
import path from 'node:path';
import { type io, util } from '@tensorflow/tfjs-core';
import { TftrtError } from '../errors';

/** The files that a manifest names, beside the file that has the manifest: the weights' descriptions and all their bytes. */
export async function loadWeights(
  modelFile: string,
  manifest: io.WeightsManifestConfig,
): Promise<[io.WeightsManifestEntry[], ArrayBuffer]> {
  const specs: io.WeightsManifestEntry[] = [];
  const buffers: Buffer[] = [];
  for (const group of manifest) {
    const files = group.paths.map((name) => path.join(path.dirname(modelFile), name));
    const shards = await Promise.all(files.map((file) => readFile(file, `weights of ${modelFile}`)));
    const found = shards.reduce((sum, shard) => sum + shard.byteLength, 0);
    const needed = byteLengthOf(group.weights);
    if (needed !== undefined && found !== needed) {
      throw new TftrtError(
        'TFTRT_MODEL_FILE',
        `The weight files ${files.join(', ')} have ${found} bytes, but ${modelFile} describes ${needed}: ` +
          `${found < needed ? 'a file is truncated or missing from the manifest' : 'they belong to another model'}. Fetch or convert the model again.`,
      );
    }
    specs.push(...group.weights);
    buffers.push(...shards);
  }
  return [specs, joined(buffers)];
}

/** Throws `TFTRT_MODEL_FILE` unless this can be a manifest. */
export function checkManifest(file: string, manifest: unknown): io.WeightsManifestConfig {
  const isGroup = (group: io.WeightsManifestConfig[number]) =>
    Array.isArray(group?.weights) && group.weights.every(isWeight) && isTexts(group.paths);
  if (Array.isArray(manifest) && manifest.every(isGroup)) return manifest;
  throw new TftrtError(
    'TFTRT_MODEL_FILE',
    `${file} has a weightsManifest that is not a list of {paths, weights}, each weight with a name, shape and dtype: the file is damaged.`,
  );
}

/** `what` the file has, for the error. */
export async function readJson(file: string, what: string): Promise<unknown> {
  const text = (await readFile(file, what)).toString('utf8');
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TftrtError(
      'TFTRT_MODEL_FILE',
      `${file} is not valid JSON (${(cause as Error).message}): the file is damaged or no TensorFlow.js model.`,
      { cause },
    );
  }
}

export async function readFile(file: string, what: string): Promise<Buffer> {
  try {
    return await fs.readFile(file);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'the file does not exist' : message;
    throw new TftrtError('TFTRT_MODEL_FILE', `Cannot read ${what} from ${file}: ${reason}.`, { cause });
  }
}

function isTexts(values: unknown): boolean {
  return Array.isArray(values) && values.every((value) => typeof value === 'string');
}

function isWeight(weight: io.WeightsManifestEntry): boolean {
  const isSize = (size: unknown) => Number.isInteger(size) && (size as number) >= 0;
  return (
    typeof weight?.name === 'string' &&
    typeof weight.dtype === 'string' &&
    Array.isArray(weight.shape) &&
    weight.shape.every(isSize)
  );
}

/** Bytes that the weights take in their files; undefined where strings make it unknowable beforehand. */
function byteLengthOf(weights: io.WeightsManifestEntry[]): number | undefined {
  let bytes = 0;
  for (const { dtype, shape, quantization } of weights) {
    if (dtype === 'string') return undefined;
    const stored = quantization?.dtype ?? dtype;
    bytes +=
      util.sizeFromShape(shape) *
      (stored === 'float16' || stored === 'uint16'
        ? 2
        : stored === 'uint8'
          ? 1
          : util.bytesPerElement(stored as 'float32'));
  }
  return bytes;
}

/** One ArrayBuffer of all parts, without a copy where there is but one that has its own. */
function joined(parts: Buffer[]): ArrayBuffer {
  const [only] = parts;
  if (parts.length === 1 && only!.byteLength === only!.buffer.byteLength) return only!.buffer as ArrayBuffer;
  const bytes = parts.reduce((sum, part) => sum + part.byteLength, 0);
  const whole = new Uint8Array(bytes);
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.byteLength;
  }
  return whole.buffer;
}
