import fs from 'node:fs/promises';
import path from 'node:path';
import { io, util } from '@tensorflow/tfjs-core';
import { TftrtError } from '../errors';

const MODEL_FILE = 'model.json';
const WEIGHTS_FILE = 'weights.bin';

/** Models in TensorFlow.js's format on disk: a model.json (or the folder that holds one) and the weight files beside it. */
export class FileSystemHandler implements io.IOHandler {
  constructor(private readonly target: string) {}

  /** Reads the model; throws `TFTRT_MODEL_FILE` naming the file that is missing, broken or too short. */
  load = async (): Promise<io.ModelArtifacts> => {
    const file = await this.modelFile();
    const text = (await this.readFile(file, 'the model')).toString('utf8');
    let model: io.ModelJSON;
    try {
      model = JSON.parse(text);
    } catch (cause) {
      throw new TftrtError(
        'TFTRT_MODEL_FILE',
        `${file} is not valid JSON (${(cause as Error).message}): the file is damaged or no TensorFlow.js model.`,
        { cause },
      );
    }
    if (model === null || typeof model !== 'object' || model.modelTopology == null) {
      throw new TftrtError(
        'TFTRT_MODEL_FILE',
        `${file} has no modelTopology: it is no model.json of TensorFlow.js.`,
      );
    }
    const manifest: unknown = model.weightsManifest ?? [];
    const isGroup = (group: io.WeightsManifestConfig[number]) =>
      Array.isArray(group?.weights) && group.weights.every(isWeight) && isTexts(group.paths);
    if (!Array.isArray(manifest) || !manifest.every(isGroup)) {
      throw new TftrtError(
        'TFTRT_MODEL_FILE',
        `${file} has a weightsManifest that is not a list of {paths, weights}, each weight with a name, shape and dtype: the file is damaged.`,
      );
    }
    model.weightsManifest = manifest;
    return io.getModelArtifactsForJSON(model, async (manifest) => this.loadWeights(file, manifest));
  };

  /** Writes model.json and weights.bin into the folder, which is made if need be. */
  save = async (artifacts: io.ModelArtifacts): Promise<io.SaveResult> => {
    if (artifacts.modelTopology instanceof ArrayBuffer) {
      throw new TftrtError(
        'TFTRT_INVALID_ARGUMENT',
        'Models whose topology is binary cannot be saved as model.json.',
      );
    }
    const weightData = io.CompositeArrayBuffer.join(artifacts.weightData ?? new ArrayBuffer(0));
    const { weightData: _, weightSpecs, getWeightStream: __, ...rest } = artifacts;
    const manifest = [{ paths: [`./${WEIGHTS_FILE}`], weights: weightSpecs ?? [] }];
    const json = JSON.stringify({ ...rest, weightsManifest: manifest });
    try {
      await fs.mkdir(this.target, { recursive: true });
      await writeWhole(path.join(this.target, WEIGHTS_FILE), new Uint8Array(weightData));
      await writeWhole(path.join(this.target, MODEL_FILE), json);
    } catch (cause) {
      throw new TftrtError(
        'TFTRT_MODEL_FILE',
        `The model cannot be saved into ${this.target}: ${(cause as Error).message}`,
        { cause },
      );
    }
    return {
      modelArtifactsInfo: {
        dateSaved: new Date(),
        modelTopologyType: 'JSON',
        modelTopologyBytes: Buffer.byteLength(JSON.stringify(artifacts.modelTopology ?? null)),
        weightSpecsBytes: Buffer.byteLength(JSON.stringify(weightSpecs ?? [])),
        weightDataBytes: weightData.byteLength,
      },
    };
  };

  private async modelFile(): Promise<string> {
    const stat = await fs.stat(this.target).catch(() => undefined);
    return stat?.isDirectory() ? path.join(this.target, MODEL_FILE) : this.target;
  }

  private async loadWeights(
    modelFile: string,
    manifest: io.WeightsManifestConfig,
  ): Promise<[io.WeightsManifestEntry[], ArrayBuffer]> {
    const specs: io.WeightsManifestEntry[] = [];
    const buffers: Buffer[] = [];
    for (const group of manifest) {
      const files = group.paths.map((name) => path.join(path.dirname(modelFile), name));
      const shards = await Promise.all(files.map((file) => this.readFile(file, `weights of ${modelFile}`)));
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

  private async readFile(file: string, what: string): Promise<Buffer> {
    try {
      return await fs.readFile(file);
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException;
      const reason = code === 'ENOENT' ? 'the file does not exist' : message;
      throw new TftrtError('TFTRT_MODEL_FILE', `Cannot read ${what} from ${file}: ${reason}.`, { cause });
    }
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

/** Never leaves half a file under the final name. */
async function writeWhole(file: string, content: Uint8Array | string): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  await fs.writeFile(temporary, content);
  await fs.rename(temporary, file);
}
