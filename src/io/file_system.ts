import { randomUUID } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { types } from 'node:util';
import { io } from '@tensorflow/tfjs-core';
import { TftrtError } from '../errors';
import { inTurn } from '../in_turn';
import { makeFolder } from '../setup/make_folder';
import { checkManifest, loadWeights, readJson } from './weight_files';

const MODEL_FILE = 'model.json';
const WEIGHTS_FILE = 'weights.bin';

/** Models in TensorFlow.js's format on disk: a model.json (or the folder that holds one) and the weight files beside it. */
export class FileSystemHandler implements io.IOHandler {
  constructor(private readonly target: string) {}

  /** Reads the model; throws `TFTRT_MODEL_FILE` naming the file that is missing, broken or too short. */
  load = async (): Promise<io.ModelArtifacts> => {
    const file = await this.modelFile();
    const model = (await readJson(file, 'the model')) as io.ModelJSON;
    if (model === null || typeof model !== 'object' || model.modelTopology == null) {
      throw new TftrtError(
        'TFTRT_MODEL_FILE',
        `${file} has no modelTopology: it is no model.json of TensorFlow.js.`,
      );
    }
    model.weightsManifest = checkManifest(file, model.weightsManifest ?? []);
    return io.getModelArtifactsForJSON(model, async (manifest) => loadWeights(file, manifest));
  };

  /** Writes model.json and weights.bin into the folder, which is made if need be. */
  save = async (artifacts: io.ModelArtifacts): Promise<io.SaveResult> => {
    if (types.isAnyArrayBuffer(artifacts.modelTopology)) {
      throw new TftrtError(
        'TFTRT_INVALID_ARGUMENT',
        'Models whose topology is binary cannot be saved as model.json.',
      );
    }
    const weightData = io.CompositeArrayBuffer.join(artifacts.weightData ?? new ArrayBuffer(0));
    const { weightData: _, weightSpecs, getWeightStream: __, ...rest } = artifacts;
    const manifest = [{ paths: [WEIGHTS_FILE], weights: weightSpecs ?? [] }];
    const json = JSON.stringify({ ...rest, weightsManifest: manifest });
    try {
      makeFolder(this.target);
      // Both files of a folder are to be of the same model.
      await inTurn(`saving ${path.resolve(this.target)}`, async () => {
        await writeWhole(path.join(this.target, WEIGHTS_FILE), new Uint8Array(weightData));
        await writeWhole(path.join(this.target, MODEL_FILE), json);
      });
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
}

/** Never leaves half a file, under whatever name, nor a mixture where others, in this process too, write the same file. */
async function writeWhole(file: string, content: Uint8Array | string): Promise<void> {
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    await fs.writeFile(temporary, content);
    await fs.rename(temporary, file);
  } catch (error) {
    await fs.rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}
