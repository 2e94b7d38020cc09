import { activeDevice } from '../backend/active';
import { TftrtError } from '../errors';
import { type NativeRuntime, nativeRuntime } from '../native';
import { requireOptions } from '../options';
import { Program } from '../program/program';
import {
  type MetaGraphJson,
  readMetaGraphs,
  requireSavedModel,
  sameElements,
  withFileAtFault,
} from './saved_model_files';
import { parseSignature, signatureNames } from './signature';
import { SignatureModel } from './signature_model';

export interface SavedModelOptions {
  /** The tags of the meta graph; exactly these. Default `['serve']`. */
  tags?: string[];
  /** The signature to run. Default `serving_default`. */
  signature?: string;
}

const OPTIONS: ReadonlySet<string> = new Set<keyof SavedModelOptions>(['tags', 'signature']);

/**
 * Loads a TensorFlow SavedModel, without conversion, off the event loop.
 *
 * Errors: `TFTRT_NOT_FOUND` for a folder, tags or signature that are not there (the message lists those that are),
 * `TFTRT_DATA_LOSS` for a file that is damaged (the message names it), TensorFlow's own codes for a model that it refuses.
 */
export async function loadSavedModel(
  directory: string,
  options: SavedModelOptions = {},
): Promise<SavedModel> {
  requireOptions('loadSavedModel', options ?? {}, OPTIONS);
  const { tags = ['serve'], signature = 'serving_default' } = options ?? {};
  checkArguments(directory, tags, signature);
  const runtime = nativeRuntime(activeDevice());
  requireSavedModel(directory);
  const program = await loadProgram(runtime, directory, tags);
  try {
    const signatures = program.signatures();
    const found = parseSignature(signatures, signature);
    if (found !== undefined) return new SavedModel(directory, program, found);
    throw new TftrtError(
      'TFTRT_NOT_FOUND',
      `The SavedModel ${directory} has no signature '${signature}' under the tags [${tags}]; it has: ${signatureNames(signatures).join(', ') || 'none'}.`,
    );
  } catch (error) {
    program.dispose();
    throw error;
  }
}

/** Loads a meta graph. Errors say which tags there are, or which file is damaged. */
export async function loadProgram(
  runtime: NativeRuntime,
  directory: string,
  tags: string[],
): Promise<Program> {
  try {
    return await Program.fromSavedModel(runtime, directory, tags);
  } catch (error) {
    // Read first: where that fails, the file of the graph is at fault.
    const metaGraphs = readMetaGraphs(runtime.addon, directory);
    throw withFileAtFault(withAvailableTags(error, metaGraphs, directory, tags), directory);
  }
}

/** Throws `TFTRT_INVALID_ARGUMENT` for what nobody can have meant. */
export function checkArguments(
  directory: unknown,
  tags: unknown,
  signature: unknown,
  caller = 'loadSavedModel',
): void {
  const isText = (value: unknown) => typeof value === 'string';
  const problem = !isText(directory)
    ? `the folder is ${directory}; expected a path`
    : directory === ''
      ? "the folder is ''; expected a path"
      : (directory as string).startsWith('file://')
        ? `the folder is ${directory}; expected a path, not a URL`
        : !Array.isArray(tags) || !tags.every(isText)
          ? `tags is ${JSON.stringify(tags)}; expected an array of strings`
          : !isText(signature)
            ? `signature is ${signature}; expected a string`
            : null;
  if (problem !== null) throw new TftrtError('TFTRT_INVALID_ARGUMENT', `${caller}: ${problem}.`);
}

/** A signature of a SavedModel as one callable. Made by `loadSavedModel`. */
export class SavedModel extends SignatureModel {}

/** TensorFlow does not say which tags a SavedModel has. */
function withAvailableTags(
  error: unknown,
  metaGraphs: readonly MetaGraphJson[],
  directory: string,
  tags: string[],
): unknown {
  if (!(error instanceof TftrtError) || error.code !== 'TFTRT_NOT_FOUND') return error;
  if (metaGraphs.some(({ metaInfoDef }) => sameElements(metaInfoDef?.tags ?? [], tags))) return error;
  const available = metaGraphs.map(({ metaInfoDef }) => `[${metaInfoDef?.tags ?? []}]`);
  return new TftrtError(
    'TFTRT_NOT_FOUND',
    `The SavedModel ${directory} has nothing under the tags [${tags}]; it has: ${available.join(', ')}. Name one of them in the option \`tags\`.`,
    { cause: error },
  );
}
