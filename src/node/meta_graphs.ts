import type { MetaGraph, ModelTensorInfo } from '@tensorflow/tfjs-core';
import { TftrtError } from '../errors';
import { checkArguments } from '../models/saved_model';
import { graphFile, readMetaGraphs, sameElements } from '../models/saved_model_files';
import {
  type ModelSignature,
  parseSignature,
  type SignatureEndpoint,
  type SignaturesJson,
  signatureNames,
} from '../models/signature';
import { toModelTensorInfo } from '../models/signature_model';
import { nativeRuntime } from '../native';

interface Signatures {
  readonly tags: string[];
  readonly signatures: SignaturesJson;
}

/**
 * The tags and signatures of a SavedModel: for each input and output the graph's tensor (`name`), its dtype in JavaScript and
 * in TensorFlow, and its shape, where −1 is any size.
 */
export async function getMetaGraphsFromSavedModel(path: string): Promise<MetaGraph[]> {
  checkArguments(path, [], '', 'getMetaGraphsFromSavedModel');
  return readSignatures(path).map(({ tags, signatures }) => ({
    tags,
    signatureDefs: Object.fromEntries(
      signatureNames(signatures).map((name) => {
        const { inputs, outputs } = parseSignature(signatures, name)!;
        return [name, { inputs: byName(inputs), outputs: byName(outputs) }];
      }),
    ),
  }));
}

/** One signature under exactly these tags, in any order. */
export function readSignature(directory: string, tags: string[], signature: string): ModelSignature {
  const metaGraphs = readSignatures(directory);
  const metaGraph = metaGraphs.find((candidate) => sameElements(candidate.tags, tags));
  if (metaGraph === undefined) {
    const available = metaGraphs.map((candidate) => `[${candidate.tags}]`).join(', ');
    throw new TftrtError(
      'TFTRT_NOT_FOUND',
      `The SavedModel does not have tags: ${tags}; ${directory} has: ${available}`,
    );
  }
  const found = parseSignature(metaGraph.signatures, signature);
  if (found === undefined) {
    const available = signatureNames(metaGraph.signatures).join(', ') || 'none';
    throw new TftrtError(
      'TFTRT_NOT_FOUND',
      `The SavedModel does not have signature: ${signature}; ${directory} has: ${available}`,
    );
  }
  return found;
}

function readSignatures(directory: string): Signatures[] {
  if (graphFile(directory) === undefined) {
    throw new TftrtError('TFTRT_NOT_FOUND', `There is no saved_model.pb file in the directory: ${directory}`);
  }
  return readMetaGraphs(nativeRuntime().addon, directory).map(({ metaInfoDef, signatureDef = {} }) => ({
    tags: metaInfoDef?.tags ?? [],
    signatures: signatureDef,
  }));
}

function byName(endpoints: SignatureEndpoint[]): Record<string, ModelTensorInfo> {
  return Object.fromEntries(
    endpoints.map((endpoint) => [endpoint.name, { ...toModelTensorInfo(endpoint), name: endpoint.tensor }]),
  );
}
