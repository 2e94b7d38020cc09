import path from 'node:path';
import type { io } from '@tensorflow/tfjs-core';
import { TftrtError } from '../errors';
import { FileSystemHandler } from './file_system';
import { checkManifest, loadWeights, readFile, readJson } from './weight_files';

/** A model of two files: a serialized GraphDef, and a manifest in JSON with the weight files beside it. */
export class GraphDefFilesHandler implements io.IOHandler {
  constructor(
    private readonly graphFile: string,
    private readonly manifestFile: string,
  ) {}

  /** Reads the model; throws `TFTRT_MODEL_FILE` naming the file that is missing, broken or too short. */
  load = async (): Promise<io.ModelArtifacts> => {
    const graph = await readFile(this.graphFile, 'the graph');
    const json = await readJson(this.manifestFile, 'the manifest of the weights');
    const manifest = checkManifest(this.manifestFile, json);
    const [weightSpecs, weightData] = await loadWeights(this.manifestFile, manifest);
    const bytes = graph.buffer.slice(graph.byteOffset, graph.byteOffset + graph.byteLength);
    return { modelTopology: bytes as ArrayBuffer, weightSpecs, weightData };
  };

  save = async (): Promise<io.SaveResult> => {
    throw new TftrtError('TFTRT_INVALID_ARGUMENT', 'Cannot perform saving to multiple paths.');
  };
}

/**
 * Models in TensorFlow.js's format on disk, by the path of the model.json or its folder; or, by two paths, a serialized GraphDef
 * and the manifest of its weights. Saves into a folder.
 */
export function fileSystem(paths: string | string[]): io.IOHandler {
  if (![paths].flat().every((one) => typeof one === 'string')) {
    throw new TftrtError(
      'TFTRT_INVALID_ARGUMENT',
      `fileSystem takes a path or two, got ${JSON.stringify(paths)}.`,
    );
  }
  if (!Array.isArray(paths)) return new FileSystemHandler(path.resolve(paths));
  const [graphFile, manifestFile] = paths;
  if (paths.length !== 2) {
    throw new TftrtError(
      'TFTRT_INVALID_ARGUMENT',
      `file paths must have a length of 2, (actual length is ${paths.length}).`,
    );
  }
  return new GraphDefFilesHandler(path.resolve(graphFile!), path.resolve(manifestFile!));
}
