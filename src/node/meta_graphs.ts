import fs from 'node:fs';
import path from 'node:path';
import type { MetaGraph, ModelTensorInfo } from '@tensorflow/tfjs-core';
import { TftrtError } from '../errors';
import { checkArguments } from '../models/saved_model';
import { type ModelSignature, parseSignatures, type SignatureEndpoint } from '../models/signature';
import { toModelTensorInfo } from '../models/signature_model';
import { nativeRuntime } from '../native';

/** tensorflow.MetaGraphDef in JSON, as far as it is read. */
interface MetaGraphJson {
  metaInfoDef?: { tags?: string[] };
  signatureDef?: Record<string, unknown>;
}

interface Signatures {
  readonly tags: string[];
  readonly signatures: Map<string, ModelSignature>;
}

/**
 * The tags and signatures of a SavedModel: for each input and output the graph's tensor (`name`), its dtype in JavaScript and
 * in TensorFlow, and its shape, where −1 is any size.
 */
export async function getMetaGraphsFromSavedModel(path: string): Promise<MetaGraph[]> {
  checkArguments(path, [], '', 'getMetaGraphsFromSavedModel');
  return readMetaGraphs(path).map(({ tags, signatures }) => ({
    tags,
    signatureDefs: Object.fromEntries(
      [...signatures]
        .sort(byText)
        .map(([name, { inputs, outputs }]) => [name, { inputs: byName(inputs), outputs: byName(outputs) }]),
    ),
  }));
}

/** One signature under exactly these tags, in any order. */
export function readSignature(directory: string, tags: string[], signature: string): ModelSignature {
  const metaGraph = readMetaGraphs(directory).find((candidate) => sameElements(candidate.tags, tags));
  if (metaGraph === undefined) {
    throw new TftrtError('TFTRT_NOT_FOUND', `The SavedModel does not have tags: ${tags}`);
  }
  const found = metaGraph.signatures.get(signature);
  if (found === undefined) {
    throw new TftrtError('TFTRT_NOT_FOUND', `The SavedModel does not have signature: ${signature}`);
  }
  return found;
}

function readMetaGraphs(directory: string): Signatures[] {
  if (!['saved_model.pb', 'saved_model.pbtxt'].some((name) => fs.existsSync(path.join(directory, name)))) {
    throw new TftrtError('TFTRT_NOT_FOUND', `There is no saved_model.pb file in the directory: ${directory}`);
  }
  const metaGraphs = JSON.parse(nativeRuntime().addon.readSavedModel(directory)) as MetaGraphJson[];
  return metaGraphs.map(({ metaInfoDef, signatureDef = {} }) => ({
    tags: metaInfoDef?.tags ?? [],
    signatures: parseSignatures(signatureDef),
  }));
}

/** Protobuf's maps come in any order. */
function byText([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1;
}

function byName(endpoints: SignatureEndpoint[]): Record<string, ModelTensorInfo> {
  return Object.fromEntries(
    endpoints.map((endpoint) => [endpoint.name, { ...toModelTensorInfo(endpoint), name: endpoint.tensor }]),
  );
}

/** Whether two lists have the same elements, in any order. */
export function sameElements(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && [...one].sort().join() === [...other].sort().join();
}
