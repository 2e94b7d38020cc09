import type * as tf from '@tensorflow/tfjs';
import * as tftrt from 'tfjs-backend-tftrt';
import {
  type BackendStats,
  type BuildOptions,
  type BuildProgress,
  build,
  type Configuration,
  type ConversionReport,
  clearEngineCache,
  computeStream,
  configure,
  createInferenceGraph,
  type DeviceInfo,
  type DeviceMemory,
  type DeviceMemoryOptions,
  devices,
  type EngineReport,
  engineCacheDir,
  type FrozenGraph,
  type FrozenGraphOptions,
  type GpuTensorData,
  type InferenceGraphOptions,
  loadFrozenGraph,
  loadSavedModel,
  type NativeReport,
  type Precision,
  type Profile,
  type ProfileReport,
  type SavedModel,
  type SavedModelOptions,
  type ShapeRange,
  type Stats,
  stats,
  TftrtError,
  type Transfers,
  tensorFromDevice,
} from 'tfjs-backend-tftrt';
import { expectType } from './expect_type';

declare function expectInferenceModel(model: tf.InferenceModel): void;

declare const bytes: Uint8Array;
declare const x: tf.Tensor;
declare const graphModel: tf.GraphModel;
declare const layersModel: tf.LayersModel;
declare const savedModel: SavedModel;
declare const frozenGraph: FrozenGraph;
declare const report: ConversionReport;
declare const figures: Stats;

export function configuring(): void {
  expectType<void>()(configure({}));
  configure({
    device: 'gpu:1',
    precision: 'TF32',
    memoryLimitBytes: 2 ** 30,
    perProcessGpuMemoryFraction: 0.5,
    graphArenaBytes: 0,
    allowGrowth: false,
    maxWorkspaceSizeBytes: 1,
    minimumSegmentSize: 3,
    maximumCachedEngines: 1,
    useCalibration: false,
    allowBuildAtRuntime: true,
    engineCacheBytes: 1,
    intraOpParallelismThreads: 1,
  });
  configure({ devices: ['gpu:0', 'gpu:1'] as const });
  const configuration: Configuration = { precision: 'INT8' };
  configure(configuration);

  // @ts-expect-error: takes an object
  configure();
  // @ts-expect-error: no such option
  configure({ devcie: 'cpu' });
  // @ts-expect-error: no such precision
  configure({ precision: 'FP64' });
  // @ts-expect-error: a text
  configure({ device: 0 });
  // @ts-expect-error: a list
  configure({ devices: 'gpu:0' });
  // @ts-expect-error: a number
  configure({ memoryLimitBytes: '1 GiB' });
  // @ts-expect-error: true or false
  configure({ allowGrowth: 'yes' });
}

export async function building(): Promise<void> {
  expectType<Promise<ConversionReport>>()(build(graphModel));
  build(savedModel, {});
  build(frozenGraph, { precision: 'FP16', inputs: [x, [x, x], { image: x }] });
  build(graphModel, {
    profiles: [
      { min: [1, 3], opt: [8, 3], max: [16, 3] },
      { image: { min: [1, 3], max: [16, 3] }, mask: { opt: [1] } },
    ],
    outputs: ['logits'],
    maxWorkspaceSizeBytes: 1,
    minimumSegmentSize: 3,
    maximumCachedEngines: 2,
    allowBuildAtRuntime: false,
    cache: false,
    tolerance: 0.1,
    force: true,
    onProgress: (event) => expectType<BuildProgress>()(event),
  });
  build(graphModel, { precision: 'INT8', calibration: { inputs: [x] }, useCalibration: true });
  build(graphModel, { precision: 'INT8', calibration: { table: report.calibrationTable ?? '' } });
  const range: ShapeRange = { opt: [1] };
  const profile: Profile = { image: range };
  const precision: Precision = 'FP32';
  const options: BuildOptions = { profiles: [profile, range], precision };
  build(graphModel, options);

  // @ts-expect-error: of a model with a graph only
  build(layersModel);
  // @ts-expect-error: no such precision
  build(graphModel, { precision: 'fp16' });
  // @ts-expect-error: a list of inputs
  build(graphModel, { inputs: x });
  // @ts-expect-error: sizes are numbers
  build(graphModel, { profiles: [{ min: ['1'] }] });
  // @ts-expect-error: either of two
  build(graphModel, { calibration: {} });
  // @ts-expect-error: no such option
  build(graphModel, { workspace: 1 });
  build(graphModel, {
    onProgress: ({ stage }) => {
      // @ts-expect-error: no such stage
      stage === 'started';
    },
  });
}

export function reporting(): void {
  expectType<'tensorrt' | 'tensorflow'>()(report.serving);
  expectType<string>()(report.reason);
  expectType<string>()(report.toString());
  expectType<readonly EngineReport[]>()(report.engines);
  expectType<readonly NativeReport[]>()(report.native);
  expectType<readonly ProfileReport[]>()(report.profiles);
  expectType<Precision>()(report.precision);
  expectType<string | undefined>()(report.calibrationTable);
  expectType<number | undefined>()(report.difference);
  expectType<number | undefined>()(report.latencyMs?.tensorrt);
  expectType<boolean>()(report.captured);
  expectType<number>()(report.engines[0]!.sizeBytes);
  expectType<Readonly<Record<string, number>>>()(report.engines[0]!.ops);
  expectType<string>()(report.native[0]!.reason);

  // @ts-expect-error: a report is only read
  report.totalMs = 0;
  // @ts-expect-error: and so are its lists
  report.engines.push(report.engines[0]!);
}

export async function runningSavedModels(): Promise<void> {
  expectType<SavedModel>()(await loadSavedModel('/model'));
  const options: SavedModelOptions = { tags: ['serve'], signature: 'serving_default' };
  const model = await loadSavedModel('/model', options);
  expectType<tf.Tensor | tf.Tensor[] | tf.NamedTensorMap>()(model.predict(x));
  expectType<Promise<tf.Tensor | tf.Tensor[] | tf.NamedTensorMap>>()(model.predictAsync([x, x]));
  expectType<tf.Tensor | tf.Tensor[]>()(model.execute({ image: x }, 'some/node:1'));
  expectType<Promise<tf.Tensor | tf.Tensor[]>>()(model.executeAsync(x, ['logits', 'classes']));
  expectType<tf.ModelTensorInfo[]>()(model.inputs);
  expectType<Record<string, string>>()(model.outputNodeNames);
  expectType<void>()(model.dispose());
  expectInferenceModel(model);

  // @ts-expect-error: a path
  loadSavedModel();
  // @ts-expect-error: tags are a list
  loadSavedModel('/model', { tags: 'serve' });
  // @ts-expect-error: takes tensors
  model.predict([1, 2, 3]);
  // @ts-expect-error: needs the names of outputs
  model.execute(x);
  // @ts-expect-error: which tensors, is the model's
  model.inputs = [];
}

export async function runningFrozenGraphs(): Promise<void> {
  const options: FrozenGraphOptions = { outputs: ['logits'], inputs: ['image'], label: 'mine' };
  expectType<FrozenGraph>()(await loadFrozenGraph(bytes, options));
  const converting: InferenceGraphOptions = {
    maxBatchSize: 8,
    maxWorkspaceSizeBytes: 1,
    minimumSegmentSize: 3,
    precisionMode: 'INT8',
    shapes: { image: [-1, 3] },
    calibration: { inputs: [{ image: x }] },
    onProgress: ({ stage, elapsedMs }) => `${stage} ${elapsedMs.toFixed()}`,
  };
  expectType<Uint8Array>()(await createInferenceGraph(bytes, ['logits'], converting));

  // @ts-expect-error: needs the outputs
  loadFrozenGraph(bytes);
  // @ts-expect-error: bytes, not a path
  loadFrozenGraph('/graph.pb', { outputs: ['logits'] });
  // @ts-expect-error: a list of outputs
  createInferenceGraph(bytes, 'logits');
  // @ts-expect-error: by name
  createInferenceGraph(bytes, ['logits'], { calibration: { inputs: [x] } });
}

export async function sharingMemory(): Promise<void> {
  expectType<bigint>()(computeStream());
  computeStream(devices()[0]!.name);
  const memory: DeviceMemory<tf.Rank.R2> = { pointer: 1n, shape: [2, 3], dtype: 'float32', byteLength: 24 };
  const options: DeviceMemoryOptions = { event: 1n, stream: 2n, copy: false, release: () => undefined };
  expectType<tf.Tensor2D>()(tensorFromDevice(memory, options));
  const data = x.dataToGPU() as GpuTensorData;
  expectType<bigint>()(data.pointer);
  expectType<bigint>()(data.stream);
  expectType<number>()(data.bytes);

  // @ts-expect-error: pointers have 64 bits
  tensorFromDevice({ pointer: 1, shape: [1], dtype: 'float32' });
  // @ts-expect-error: TensorFlow's texts are not on a GPU
  tensorFromDevice({ pointer: 1n, shape: [1], dtype: 'string' });
  // @ts-expect-error: two dimensions
  tensorFromDevice<tf.Rank.R2>({ pointer: 1n, shape: [2], dtype: 'int32' });
}

export function counting(): void {
  expectType<Stats>()(stats());
  expectType<number>()(figures.tensors);
  expectType<number>()(figures.tiers.cudaGraphs);
  expectType<string>()(figures.tensorFlowVersion);
  expectType<readonly BackendStats[]>()(figures.backends);
  expectType<Transfers>()(figures.transfers);
  expectType<number>()(figures.transfers.hostToDevice.bytes);
  expectType<number | undefined>()(figures.deviceBytesInUse);
  expectType<Readonly<Record<string, number>>>()(figures.notCaptured);
  expectType<DeviceInfo[]>()(devices());
  expectType<number>()(devices()[0]!.memoryLimitBytes);
  expectType<string>()(engineCacheDir());
  expectType<void>()(clearEngineCache());

  // @ts-expect-error: figures are only read
  figures.tensors = 0;
  // @ts-expect-error: no such figure
  figures.tensorz;
  // @ts-expect-error: no such tier
  figures.tiers.magic;
}

export function catching(error: unknown): string | undefined {
  if (error instanceof TftrtError) {
    expectType<string>()(error.code);
    // @ts-expect-error: says what went wrong, for good
    error.code = 'TFTRT_OTHER';
    return error.message;
  }
  return undefined;
}

export function nothingElse(): void {
  // @ts-expect-error: no default export
  tftrt.default;
  // @ts-expect-error: nothing of the addon
  tftrt.nativeRuntime;
}
