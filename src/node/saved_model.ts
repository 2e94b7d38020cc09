import path from 'node:path';
import {
  type ModelPredictConfig,
  type ModelTensorInfo,
  type NamedTensorMap,
  Tensor,
} from '@tensorflow/tfjs-core';
import { activeDevice } from '../backend/active';
import { TftrtError } from '../errors';
import { checkArguments, loadProgram, SavedModel } from '../models/saved_model';
import { sameElements } from '../models/saved_model_files';
import type { ModelSignature, SignatureEndpoint } from '../models/signature';
import { toModelTensorInfo } from '../models/signature_model';
import { nativeRuntime } from '../native';
import type { Program } from '../program/program';
import { readSignature } from './meta_graphs';

/** A meta graph in TensorFlow's memory, which all signatures loaded from it share, and with it the values of its variables. */
interface Shared {
  readonly key: string;
  readonly program: Promise<Program>;
  users: number;
}

const loaded = new Map<string, Shared>();

/**
 * Loads a signature of a SavedModel, off the event loop. Signatures of one meta graph share a session, and with it the
 * values of its variables.
 */
export async function loadSavedModel(
  path: string,
  tags: string[] = ['serve'],
  signature = 'serving_default',
): Promise<TFSavedModel> {
  checkArguments(path, tags, signature);
  const found = readSignature(path, tags, signature);
  const shared = share(path, tags);
  try {
    return new TFSavedModel(path, await shared.program, found, () => release(shared));
  } catch (error) {
    release(shared);
    throw error;
  }
}

/** How many meta graphs are in memory for models that `loadSavedModel` made and nobody disposed of. */
export function getNumOfSavedModels(): number {
  return loaded.size;
}

function share(directory: string, tags: string[]): Shared {
  const runtime = nativeRuntime(activeDevice());
  const key = JSON.stringify([runtime.number, path.resolve(directory), [...tags].sort()]);
  let shared = loaded.get(key);
  if (shared === undefined) {
    shared = { key, program: loadProgram(runtime, directory, tags), users: 0 };
    loaded.set(key, shared);
  }
  shared.users++;
  return shared;
}

/** Returns whether that was the last user. */
function release(shared: Shared): boolean {
  if (--shared.users > 0) return false;
  loaded.delete(shared.key);
  return true;
}

/** A signature of a SavedModel. Made by `loadSavedModel`. */
export class TFSavedModel extends SavedModel {
  /** @internal */
  constructor(
    label: string,
    program: Program,
    signature: ModelSignature,
    private readonly wasLast: () => boolean,
  ) {
    super(label, program, signature);
  }

  /** The inputs, named as in the graph, in the order in which a list of tensors binds to them; unknown dimensions are −1. */
  override get inputs(): ModelTensorInfo[] {
    return this.signature.inputs.map(asInGraph);
  }

  /** The outputs, named as in the graph, in the order in which a list of them is returned. */
  override get outputs(): ModelTensorInfo[] {
    return this.signature.outputs.map(asInGraph);
  }

  /**
   * Runs the signature. A map has the names of the signature's inputs and returns one of its outputs; a list of tensors, in
   * alphabetical order of the names, returns a list; one tensor returns the output, or a list if there are several.
   */
  override predict(
    inputs: Tensor | Tensor[] | NamedTensorMap,
    config?: ModelPredictConfig,
  ): Tensor | Tensor[] | NamedTensorMap {
    if (this.disposed) {
      throw new TftrtError('TFTRT_MODEL_DISPOSED', 'The TFSavedModel has already been deleted!');
    }
    if (
      typeof inputs === 'object' &&
      inputs !== null &&
      !(inputs instanceof Tensor) &&
      !Array.isArray(inputs)
    ) {
      this.checkNames(Object.keys(inputs));
    }
    return super.predict(inputs, config);
  }

  /** Releases the model, and its session with the last model of it; a second call throws `TFTRT_MODEL_DISPOSED`. */
  override dispose(): void {
    if (this.disposed) {
      throw new TftrtError('TFTRT_MODEL_DISPOSED', 'This SavedModel has already been deleted.');
    }
    super.dispose();
  }

  protected override releaseProgram(): void {
    if (this.wasLast()) super.releaseProgram();
  }

  private checkNames(provided: string[]): void {
    const names = this.signature.inputs.map(({ name }) => name);
    if (sameElements(names, provided)) return;
    throw new TftrtError(
      'TFTRT_INVALID_INPUT',
      `The model signatureDef input names are ${names}, however the provided input names are ${provided.sort()}.`,
    );
  }
}

function asInGraph(endpoint: SignatureEndpoint): ModelTensorInfo {
  return { ...toModelTensorInfo(endpoint), name: endpoint.tensor.replace(/:0$/, '') };
}
