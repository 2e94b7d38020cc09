import fs from 'node:fs';
import { activeDevice } from '../backend/active';
import { TftrtError } from '../errors';
import { nativeRuntime } from '../native';
import { Program } from '../program/program';
import { parseSignatures } from './signature';
import { SignatureModel } from './signature_model';

export interface SavedModelOptions {
  /** The tags of the meta graph; exactly these. Default `['serve']`. */
  tags?: string[];
  /** The signature to run. Default `serving_default`. */
  signature?: string;
}

/**
 * Loads a TensorFlow SavedModel, without conversion, off the event loop.
 *
 * Errors: `TFTRT_NOT_FOUND` for a folder, tags or signature that are not there (the message lists those that are),
 * TensorFlow's own codes for a model that is broken.
 */
export async function loadSavedModel(
  directory: string,
  options: SavedModelOptions = {},
): Promise<SavedModel> {
  const { tags = ['serve'], signature = 'serving_default' } = options ?? {};
  checkArguments(directory, tags, signature);
  const runtime = nativeRuntime(activeDevice());
  if (!fs.existsSync(directory)) {
    throw new TftrtError(
      'TFTRT_NOT_FOUND',
      `There is no SavedModel at ${directory}: the folder does not exist.`,
    );
  }
  let program: Program;
  try {
    program = await Program.fromSavedModel(runtime, directory, tags);
  } catch (error) {
    throw withAvailableTags(error, directory, tags);
  }
  const signatures = parseSignatures(program.signatures());
  const found = signatures.get(signature);
  if (found === undefined) {
    program.dispose();
    throw new TftrtError(
      'TFTRT_NOT_FOUND',
      `The SavedModel ${directory} has no signature '${signature}' under the tags [${tags}]; it has: ${[...signatures.keys()].join(', ') || 'none'}.`,
    );
  }
  return new SavedModel(directory, program, found);
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
function withAvailableTags(error: unknown, directory: string, tags: string[]): unknown {
  if (!(error instanceof TftrtError) || error.code !== 'TFTRT_NOT_FOUND') return error;
  let metaGraphs: Array<{ metaInfoDef?: { tags?: string[] } }>;
  try {
    metaGraphs = JSON.parse(nativeRuntime().addon.readSavedModel(directory));
  } catch {
    return error; // there is no SavedModel to read: the first error says so
  }
  const available = metaGraphs.map(({ metaInfoDef }) => `[${metaInfoDef?.tags ?? []}]`);
  if (available.includes(`[${tags}]`)) return error;
  return new TftrtError(
    'TFTRT_NOT_FOUND',
    `The SavedModel ${directory} has nothing under the tags [${tags}]; it has: ${available.join(', ')}. Name one of them in the option \`tags\`.`,
    { cause: error },
  );
}
