// What `require('@tensorflow/tfjs-node-gpu')` gives: all of @tensorflow/tfjs with `tf.node`, the handlers of `tf.io`, and the
// backend in use from the start.
import '..';
import './peer';
import * as tf from '@tensorflow/tfjs';
import { BACKEND_NAME } from '../backend/kernels/table';
import { registerAlias } from '../backend/register';
import { noteStartByImport } from '../config';
import { fileSystem } from '../io/graph_def_files';
import { exportInstead, firstCopy } from '../one_copy';
import { installBackendHelpers } from './backend_helpers';
import { nodeHTTPRequest } from './http';
import { decodeBmp, decodeGif, decodeImage, decodeJpeg, decodePng, encodeJpeg, encodePng } from './image';
import { getMetaGraphsFromSavedModel } from './meta_graphs';
import { TFJS_NODE_BACKEND } from './names';
import { ProgbarLogger } from './progress_logger';
import { getNumOfSavedModels, loadSavedModel } from './saved_model';
import { summaryFileWriter } from './summary_writer';
import { tensorBoard } from './tensor_board';

export * from '@tensorflow/tfjs';

export const node = {
  decodeImage,
  decodeBmp,
  decodeGif,
  decodePng,
  decodeJpeg,
  encodeJpeg,
  encodePng,
  summaryFileWriter,
  tensorBoard,
  getMetaGraphsFromSavedModel,
  getNumOfSavedModels,
  loadSavedModel,
};

export type { NodeBackend } from './backend_helpers';
export type { OpAttribute } from './op_attribute_list';
export type { TFSavedModel } from './saved_model';
export type { SummaryFileWriter } from './summary_writer';
export type { TensorBoardCallback, TensorBoardCallbackArgs } from './tensor_board';

export const io = { ...tf.io, fileSystem, nodeHTTPRequest };

/** `tfjs-node`: the version whose API this is. */
export const version = { ...tf.version, 'tfjs-node': tf.version.tfjs };

if (firstCopy === undefined) {
  installBackendHelpers();

  // For programs that set the backend by the name that tfjs-node gives its own.
  registerAlias(TFJS_NODE_BACKEND);

  // What `fit` prints unless its `verbose` is 0.
  tf.registerCallbackConstructor(1, ProgbarLogger);

  noteStartByImport();
  // Where TensorFlow cannot be loaded, every use of the backend throws the reason.
  tf.setBackend(BACKEND_NAME).catch(() => undefined);
} else {
  exportInstead(module, firstCopy.node());
}
