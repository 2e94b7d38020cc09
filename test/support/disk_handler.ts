import fs from 'node:fs';
import path from 'node:path';
import type { io } from '@tensorflow/tfjs-core';

/** Loads a tfjs model from its model.json without any registered router, for backends that have none. */
export function diskHandler(modelJson: string): io.IOHandler {
  return {
    async load() {
      const { weightsManifest, ...model } = JSON.parse(fs.readFileSync(modelJson, 'utf8')) as io.ModelJSON & {
        modelTopology: object;
      };
      const files = weightsManifest.flatMap(({ paths }) => paths);
      const weights = Buffer.concat(
        files.map((file) => fs.readFileSync(path.join(path.dirname(modelJson), file))),
      );
      return {
        ...model,
        weightSpecs: weightsManifest.flatMap((group) => group.weights),
        // A copy of its own: a Buffer may share its memory with others.
        weightData: new Uint8Array(weights).buffer,
      };
    },
  };
}
