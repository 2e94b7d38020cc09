import fs from 'node:fs';
import path from 'node:path';
import { TftrtError } from '../errors';
import type { NativeAddon } from '../native';

/** tensorflow.MetaGraphDef in JSON, as far as it is read. */
export interface MetaGraphJson {
  readonly metaInfoDef?: { readonly tags?: string[] };
  readonly signatureDef?: Record<string, unknown>;
}

const GRAPH_FILES = ['saved_model.pb', 'saved_model.pbtxt'];

/**
 * What TensorFlow says where one of a SavedModel's files is damaged, and the files. It names the op that read the file, or
 * nothing.
 */
const SUSPECTS: readonly (readonly [said: RegExp, folder: string, file: RegExp])[] = [
  [/sstable|magic number/, 'variables', /\.index$/],
  [/RestoreV2|TensorBundle/, 'variables', /\.data-/],
  [/InitializeTableFromTextFile/, 'assets', /./],
];

/** Throws `TFTRT_NOT_FOUND` where a folder is no SavedModel. */
export function requireSavedModel(directory: string): void {
  const problem = !fs.existsSync(directory)
    ? 'the folder does not exist'
    : !fs.statSync(directory).isDirectory()
      ? 'that is a file; name the folder that it is in'
      : graphFile(directory) === undefined
        ? 'the folder has no saved_model.pb'
        : null;
  if (problem !== null) {
    throw new TftrtError('TFTRT_NOT_FOUND', `There is no SavedModel at ${directory}: ${problem}.`);
  }
}

/** Whether a folder has a SavedModel's graph. */
export function graphFile(directory: string): string | undefined {
  return GRAPH_FILES.map((name) => path.join(directory, name)).find((file) => fs.existsSync(file));
}

/** The meta graphs' tags and signatures. Throws `TFTRT_DATA_LOSS` where the file of the graph is damaged. */
export function readMetaGraphs(addon: NativeAddon, directory: string): MetaGraphJson[] {
  let metaGraphs: MetaGraphJson[];
  try {
    metaGraphs = JSON.parse(addon.readSavedModel(directory));
  } catch (error) {
    throw isDamage(error) ? damaged(directory, [graphFile(directory) ?? directory], error) : error;
  }
  if (metaGraphs.length === 0) throw damaged(directory, [graphFile(directory) ?? directory]);
  return metaGraphs;
}

/** Adds to an error of loading a SavedModel which of its files is at fault, as far as that can be told. */
export function withFileAtFault(error: unknown, directory: string): unknown {
  const missing = /(\S[^;]*); No such file/.exec((error as Error).message)?.[1];
  if (missing?.includes(directory)) return missingFile(directory, missing, error);
  if (!isDamage(error)) return error;
  const [, folder, name] = SUSPECTS.find(([said]) => said.test(error.message)) ?? [];
  if (folder === undefined) return error;
  const files = filesIn(path.join(directory, folder)).filter((file) => name!.test(file));
  return files.length === 0 ? error : damaged(directory, files, error);
}

/** Whether two lists have the same elements, in any order. */
export function sameElements(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && [...one].sort().join() === [...other].sort().join();
}

function isDamage(error: unknown): error is TftrtError {
  return error instanceof TftrtError && ['TFTRT_DATA_LOSS', 'TFTRT_OUT_OF_RANGE'].includes(error.code);
}

function missingFile(directory: string, said: string, cause: unknown): TftrtError {
  const file = said.slice(said.lastIndexOf(directory));
  return new TftrtError(
    'TFTRT_NOT_FOUND',
    `The SavedModel ${directory} cannot be loaded: the file ${file} is missing. Copy or export the model again.`,
    { cause },
  );
}

function filesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder).map((name) => path.join(folder, name));
  } catch {
    return [];
  }
}

function damaged(directory: string, files: readonly string[], cause?: unknown): TftrtError {
  const described = files.map((file) => `${file} (${describe(file)})`).join(', ');
  const which =
    files.length === 1 ? `the file ${described} is damaged` : `one of the files ${described} is damaged`;
  const said = cause instanceof Error ? ` TensorFlow says: ${cause.message.split('\n')[0]}` : '';
  return new TftrtError(
    'TFTRT_DATA_LOSS',
    `The SavedModel ${directory} cannot be loaded: ${which}, or is something else. Copy or export the model again.${said}`,
    { cause },
  );
}

function describe(file: string): string {
  const stat = fs.statSync(file);
  return stat.isDirectory() ? 'a folder' : `${stat.size} bytes`;
}
