import * as stock from '@tensorflow/tfjs';
import type {
  NodeBackend,
  OpAttribute,
  SummaryFileWriter,
  TensorBoardCallback,
  TensorBoardCallbackArgs,
  TFSavedModel,
} from 'tfjs-backend-tftrt/node';
import * as tf from 'tfjs-backend-tftrt/node';
import 'tfjs-backend-tftrt/replace-tfjs-node';
import { expectType } from './expect_type';

declare function expectInferenceModel(model: tf.InferenceModel): void;

declare const bytes: Uint8Array;
declare const layersModel: tf.LayersModel;

/** All of tfjs is there, and is tfjs's. */
export function tfjs(): void {
  expectType<typeof stock.matMul>()(tf.matMul);
  expectType<typeof stock.loadGraphModel>()(tf.loadGraphModel);
  const own: tf.Tensor2D = stock.tensor2d([[1]]);
  own.dispose();
  expectType<string>()(tf.version['tfjs-node']);
  expectType<string>()(tf.version.tfjs);
}

export function images(): void {
  expectType<tf.Tensor3D | tf.Tensor4D>()(tf.node.decodeImage(bytes, 3, 'int32', false));
  expectType<tf.Tensor3D>()(tf.node.decodeJpeg(bytes, 3, 2, true, false, 1, 'INTEGER_FAST'));
  expectType<tf.Tensor3D>()(tf.node.decodePng(bytes, 4));
  expectType<tf.Tensor3D>()(tf.node.decodeBmp(bytes));
  expectType<tf.Tensor4D>()(tf.node.decodeGif(bytes));
  const image = tf.node.decodePng(Buffer.from(bytes));
  expectType<Promise<Uint8Array>>()(tf.node.encodeJpeg(image, 'rgb', 90));
  expectType<Promise<Uint8Array>>()(tf.node.encodePng(image));

  // @ts-expect-error: bytes, not a path
  tf.node.decodeImage('photo.jpg');
  // @ts-expect-error: no such format
  tf.node.encodeJpeg(image, 'cmyk');
  // @ts-expect-error: one image
  tf.node.encodePng(tf.node.decodeGif(bytes));
}

export async function savedModels(): Promise<void> {
  const model = await tf.node.loadSavedModel('/model', ['serve'], 'serving_default');
  expectType<TFSavedModel>()(model);
  expectType<tf.Tensor | tf.Tensor[] | tf.NamedTensorMap>()(model.predict(tf.zeros([1])));
  expectType<number>()(tf.node.getNumOfSavedModels());
  expectType<tf.MetaGraph[]>()(await tf.node.getMetaGraphsFromSavedModel('/model'));
  expectInferenceModel(model);

  // @ts-expect-error: tags are a list, as tfjs-node has it
  tf.node.loadSavedModel('/model', 'serve');
}

export function training(): void {
  const args: TensorBoardCallbackArgs = { updateFreq: 'batch', histogramFreq: 1 };
  expectType<TensorBoardCallback>()(tf.node.tensorBoard('/logs', args));
  layersModel.fit(tf.zeros([1, 1]), tf.zeros([1, 1]), { callbacks: tf.node.tensorBoard('/logs') });
  const writer: SummaryFileWriter = tf.node.summaryFileWriter('/logs', 10, 1000, '.v2');
  writer.scalar('loss', 0.5, 1, 'text');
  writer.scalar('loss', tf.scalar(0.5), 1);
  writer.histogram('weights', tf.zeros([3]), 1, 30);
  expectType<void>()(writer.flush());

  // @ts-expect-error: no such frequency
  tf.node.tensorBoard('/logs', { updateFreq: 'never' });
  // @ts-expect-error: a step
  writer.scalar('loss', 0.5);
}

export function handlers(): void {
  expectType<stock.io.IOHandler>()(tf.io.fileSystem('/model/model.json'));
  expectType<stock.io.IOHandler>()(tf.io.fileSystem(['/graph.pb', '/manifest.json']));
  expectType<stock.io.IOHandler>()(
    tf.io.nodeHTTPRequest('http://localhost/model.json', { headers: {} }, 'http://cdn/'),
  );
  expectType<typeof stock.io.browserHTTPRequest>()(tf.io.browserHTTPRequest);

  // @ts-expect-error: one path or two
  tf.io.fileSystem(1);
}

export function helpers(): void {
  const backend = tf.backend() as NodeBackend;
  const attributes: OpAttribute[] = [
    { name: 'T', type: backend.binding.TF_ATTR_TYPE, value: backend.getDTypeInteger('float32') },
  ];
  expectType<tf.Tensor>()(backend.executeSingleOutput('Sqrt', attributes, [tf.scalar(4)]));
  expectType<tf.Tensor[]>()(backend.executeMultipleOutputs('TopKV2', [], [tf.zeros([3])], 2));
  expectType<boolean>()(backend.isUsingGpuDevice);

  // @ts-expect-error: attributes come before inputs
  backend.executeSingleOutput('Sqrt', [tf.scalar(4)], attributes);
  // @ts-expect-error: no such dtype
  backend.getDTypeInteger('float16');
}
