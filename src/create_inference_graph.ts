import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type DataType, type NamedTensorMap, Tensor, type TensorInfo, util } from '@tensorflow/tfjs-core';
import { activeDevice, tftrtBackend } from './backend/active';
import type { TftrtBackend } from './backend/backend';
import { toTFDataType } from './dtypes';
import { TftrtError } from './errors';
import { readEndpoints, requireGraphDef, requireNames } from './models/graph_def_endpoints';
import type { SignatureEndpoint } from './models/signature';
import { type NativeRuntime, nativeRuntime, requireTensorRt } from './native';
import { requireOptions } from './options';
import { parseTensorName } from './program/graph_def';
import { memoryAdvice, memoryLimitOf, workspaceBound } from './tensorrt/build_memory';
import { runBuildProcess } from './tensorrt/build_process';
import { type BuildRequest, type StoredTensor, storeTensor } from './tensorrt/build_request';
import { type BuildProgress, deviceOption, PRECISIONS, type Precision } from './tensorrt/options';

/** As TensorFlow 1's `trt.create_inference_graph` takes them. */
export interface InferenceGraphOptions {
  /** The largest first dimension of the inputs that engines serve. Default 1. */
  maxBatchSize?: number;
  /** Memory that one layer may use for its scratch, as for `build`. Default: as much as there is. */
  maxWorkspaceSizeBytes?: number;
  /** Default: the precision that `configure` set, FP32 without it. */
  precisionMode?: Precision;
  /** Nodes that a part of the graph must have to become an engine, at least 3. Default 3. */
  minimumSegmentSize?: number;
  /** Shapes of inputs that the graph leaves open, by name, the batch included; −1 for an open batch. */
  shapes?: Record<string, number[]>;
  /** INT8: sample inputs by name, each with a batch of `maxBatchSize`. */
  calibration?: { inputs: NamedTensorMap[] };
  /** Told of each step. */
  onProgress?: (event: BuildProgress) => void;
}

const KNOWN: ReadonlySet<string> = new Set<keyof InferenceGraphOptions>([
  'maxBatchSize',
  'maxWorkspaceSizeBytes',
  'precisionMode',
  'minimumSegmentSize',
  'shapes',
  'calibration',
  'onProgress',
]);

/** What the options say, with their defaults. */
interface Resolved {
  readonly maxBatchSize: number;
  readonly maxWorkspaceSizeBytes: number;
  readonly precision: Precision;
  readonly minimumSegmentSize: number;
}

/** An input with the shapes that engines are built for. */
export interface InferenceInput {
  readonly node: string;
  readonly name: string;
  readonly dtype: DataType;
  /** For the graph: −1 where the batch is open. */
  readonly declared: number[];
  /** Of the sample that engines are built with. */
  readonly sample: number[];
}

/**
 * Converts a frozen graph with TF-TRT, as TensorFlow 1's `trt.create_inference_graph` does: takes and returns a serialized
 * GraphDef. In the result, what TensorRT can compute is in TRTEngineOp nodes, which hold their engines and, as functions,
 * what they were made of; names of inputs and outputs stay, and open batches stay open. It runs with `loadFrozenGraph` and in
 * TensorFlow, on GPUs like this one. Engines are built in a process of their own, as by `build`, which takes from seconds to
 * minutes; nothing is cached.
 *
 * Errors: those of `loadFrozenGraph`, `TFTRT_UNKNOWN_SHAPE` for inputs whose shapes are open beyond the batch,
 * `TFTRT_TENSORRT_UNAVAILABLE` without a GPU, `TFTRT_TENSORRT_MISSING` without TensorRT, `TFTRT_ENGINE_BUILD_FAILED`.
 */
export async function createInferenceGraph(
  graphDef: Uint8Array,
  outputs: string[],
  options: InferenceGraphOptions = {},
): Promise<Uint8Array> {
  requireGraphDef('createInferenceGraph', graphDef);
  requireNames('createInferenceGraph', 'outputs', outputs, 1);
  const runtime = nativeRuntime(activeDevice());
  const resolved = resolve(options ?? {}, runtime);
  const endpoints = await readEndpoints(runtime, '(of createInferenceGraph)', graphDef, [], outputs);
  if (endpoints.engines > 0) throw invalid('the graph has TensorRT engines already', 'one without');
  const inputs = inputsOf(endpoints.inputs, options?.shapes ?? {}, resolved.maxBatchSize);
  const calibration = calibrationSets(inputs, options?.calibration);
  if (!runtime.onGpu) {
    throw new TftrtError(
      'TFTRT_TENSORRT_UNAVAILABLE',
      `createInferenceGraph needs an NVIDIA GPU: TensorRT computes nowhere else, and this process computes on ${runtime.deviceName}.`,
    );
  }
  requireTensorRt();
  const backend = tftrtBackend();
  // The caller may dispose of them meanwhile.
  const held = calibration.flat();
  for (const info of held) backend.hold(info);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tftrt-inference-graph-'));
  try {
    return await convert(
      backend,
      folder,
      graphDef,
      inputs,
      endpoints.outputs,
      calibration,
      resolved,
      options?.onProgress,
    );
  } finally {
    for (const info of held) backend.letGo(info);
    await fs.promises.rm(folder, { recursive: true, force: true });
  }
}

async function convert(
  backend: TftrtBackend,
  folder: string,
  graphDef: Uint8Array,
  inputs: InferenceInput[],
  outputs: readonly SignatureEndpoint[],
  calibration: TensorInfo[][],
  { precision, ...options }: Resolved,
  onProgress: InferenceGraphOptions['onProgress'],
): Promise<Uint8Array> {
  const { runtime } = backend;
  const fetches = outputs.map(({ tensor }) => tensor);
  await runtime.addon.cutDownGraphDef(
    graphDef,
    fetches,
    inputs.map(({ node }) => node),
    inputs.map(({ declared }) => declared),
    path.join(folder, 'source.pb'),
  );
  const sample = await Promise.all(
    inputs.map((input, i) => {
      const values = valuesFor(input);
      return storeTensor(folder, `sample_${i}.bin`, { ...values, shape: input.sample });
    }),
  );
  const stored: StoredTensor[][] = [];
  for (const [i, set] of calibration.entries()) {
    stored.push(
      await Promise.all(
        set.map((info, j) =>
          storeTensor(folder, `calibration_${i}_${j}.bin`, {
            dtype: toTFDataType(info.dtype as DataType),
            shape: info.shape,
            values: backend.hostValues(info) as unknown as ArrayBufferView | Uint8Array[],
          }),
        ),
      ),
    );
  }
  const begun = performance.now();
  const request: BuildRequest = {
    precision,
    ...options,
    workspaceBound: workspaceBound(runtime),
    device: deviceOption(runtime),
    memoryLimit: memoryLimitOf(runtime.configuration),
    graphFile: 'source.pb',
    feeds: inputs.map(({ node }) => node),
    fetches,
    initializers: [],
    samples: [sample],
    calibration: stored,
    calibrationTables: {},
    useCalibration: true,
    implicitBatch: true,
    profileStrategy: 'Range',
    embed: true,
    nameSuffix: `_${createHash('sha256')
      .update(graphDef)
      .update(JSON.stringify([precision, options, fetches, inputs]))
      .digest('hex')
      .slice(0, 8)}`,
  };
  const { built, log } = await runBuildProcess(folder, request, (stage) =>
    onProgress?.({
      stage: stage as BuildProgress['stage'],
      message: stage,
      elapsedMs: performance.now() - begun,
    }),
  );
  const isEmpty = (name: string) =>
    !fs.statSync(path.join(folder, `${name}.engine`), { throwIfNoEntry: false })?.size;
  const failed = built.engines.filter(isEmpty);
  const reasons = failed.map(
    (name) => `${name}: ${log.failed[name] ?? log.problems.at(-1) ?? 'no reason given'}`,
  );
  if (built.engines.length === 0) {
    console.warn(
      'tftrt: createInferenceGraph: TensorRT can compute no part of the graph that is large enough; the result has no engines.',
    );
  } else if (failed.length === built.engines.length) {
    throw new TftrtError(
      'TFTRT_ENGINE_BUILD_FAILED',
      `createInferenceGraph: TensorRT could build none of the graph's engines. ${reasons.join('\n')}${memoryAdvice(log.lack, request)}`,
    );
  } else if (failed.length > 0) {
    console.warn(
      `tftrt: createInferenceGraph: TensorRT could not build ${failed.length} of ${built.engines.length} engines, whose parts of the graph stay in TensorFlow. ${reasons.join('\n')}${memoryAdvice(log.lack, request)}`,
    );
  }
  return new Uint8Array(await fs.promises.readFile(path.join(folder, 'graph.pb')));
}

function resolve(options: InferenceGraphOptions, { configuration }: NativeRuntime): Resolved {
  requireOptions('createInferenceGraph', options, KNOWN);
  const resolved: Resolved = {
    maxBatchSize: options.maxBatchSize ?? 1,
    maxWorkspaceSizeBytes: options.maxWorkspaceSizeBytes ?? configuration.maxWorkspaceSizeBytes ?? 0,
    precision: options.precisionMode ?? configuration.precision ?? 'FP32',
    minimumSegmentSize: options.minimumSegmentSize ?? configuration.minimumSegmentSize ?? 3,
  };
  if (!PRECISIONS.includes(resolved.precision)) {
    throw invalid(`precisionMode is '${resolved.precision}'`, PRECISIONS.join(', '));
  }
  const least = { maxBatchSize: 1, maxWorkspaceSizeBytes: 0, minimumSegmentSize: 3 };
  for (const [name, smallest] of Object.entries(least)) {
    const value = resolved[name as keyof typeof least];
    if (!Number.isInteger(value) || value < smallest) {
      throw invalid(`${name} is ${value}`, `a whole number, ${smallest} or above`);
    }
  }
  if (resolved.precision === 'INT8' && options.calibration === undefined) {
    throw invalid('INT8 needs `calibration`', '{ inputs: [maps of sample tensors…] }');
  }
  if (resolved.precision !== 'INT8' && options.calibration !== undefined) {
    throw invalid(`calibration is given for ${resolved.precision}`, "precisionMode: 'INT8', or none");
  }
  return resolved;
}

/** The shapes of the inputs: what the graph says, completed by `shapes`. Exported for tests. */
export function inputsOf(
  endpoints: readonly SignatureEndpoint[],
  shapes: Readonly<Record<string, number[]>>,
  maxBatchSize: number,
): InferenceInput[] {
  for (const name of Object.keys(shapes)) {
    if (!endpoints.some((input) => input.name === name)) {
      throw invalid(
        `\`shapes\` has '${name}', which is no input`,
        `names among ${endpoints.map((input) => input.name).join(', ')}`,
      );
    }
  }
  return endpoints.map(({ name, tensor, dtype, shape }) => {
    const given = shapes[name];
    if (given !== undefined && !(Array.isArray(given) && given.every((size) => Number.isInteger(size)))) {
      throw invalid(
        `the shape of '${name}' is ${JSON.stringify(given)}`,
        'a list of whole numbers, −1 for an open batch',
      );
    }
    if (shape === null && given === undefined) throw unknownShape(name, 'unknown');
    const merged = shape === null ? given! : merge(name, shape, given);
    if (merged.slice(1).some((size) => size < 1)) throw unknownShape(name, `[${merged}]`);
    if (merged.length > 0 && (merged[0]! > maxBatchSize || merged[0] === 0)) {
      throw invalid(
        `the batch of the input '${name}' is ${merged[0]} and maxBatchSize ${maxBatchSize}`,
        'a batch of at most maxBatchSize',
      );
    }
    const batch = (size: number, axis: number) => (axis === 0 && size < 0 ? maxBatchSize : size);
    return {
      node: parseTensorName(tensor)[0],
      name,
      dtype,
      declared: merged.map((size) => Math.max(size, -1)),
      sample: merged.map(batch),
    };
  });
}

/** The sizes that are declared, and for those that are open the given ones. */
function merge(name: string, declared: readonly number[], given: readonly number[] | undefined): number[] {
  if (given === undefined) return [...declared];
  const agrees =
    given.length === declared.length &&
    declared.every((size, axis) => size < 0 || given[axis]! < 0 || size === given[axis]);
  if (!agrees) {
    throw invalid(
      `the shape of '${name}' is [${given}] and the graph declares [${declared}]`,
      'one that agrees with it',
    );
  }
  return declared.map((size, axis) => (size < 0 ? given[axis]! : size));
}

function unknownShape(name: string, shape: string): TftrtError {
  return new TftrtError(
    'TFTRT_UNKNOWN_SHAPE',
    `createInferenceGraph: the shape of the input '${name}' is ${shape}, and engines need every size but that of the batch. Say it in the option \`shapes\`: { '${name}': [−1, …] }.`,
  );
}

function calibrationSets(
  inputs: InferenceInput[],
  calibration: InferenceGraphOptions['calibration'],
): Tensor[][] {
  if (calibration === undefined) return [];
  const sets = calibration?.inputs;
  if (!Array.isArray(sets) || sets.length === 0) {
    throw invalid('calibration.inputs is empty or no list', 'maps of sample tensors by the names of inputs');
  }
  return sets.map((set) =>
    inputs.map(({ name, dtype, sample }) => {
      const tensor = set?.[name];
      const fits =
        tensor instanceof Tensor &&
        !tensor.isDisposed &&
        tensor.dtype === dtype &&
        util.arraysEqual(tensor.shape, sample);
      if (fits) return tensor;
      throw invalid(
        `a calibration sample has for '${name}' ${tensor instanceof Tensor ? `${tensor.isDisposed ? 'a disposed ' : ''}${tensor.dtype}[${tensor.shape}]` : 'no tensor'}`,
        `${dtype}[${sample}]: all samples have a batch of maxBatchSize`,
      );
    }),
  );
}

/** Values that engines are built with: evenly spread over [0, 1) where they are floats. */
function valuesFor({ dtype, sample }: InferenceInput): {
  dtype: number;
  values: ArrayBufferView | Uint8Array[];
} {
  const size = util.sizeFromShape(sample);
  const number = toTFDataType(dtype);
  switch (dtype) {
    case 'float32':
      return { dtype: number, values: Float32Array.from({ length: size }, (_, i) => (i * 0.618034) % 1) };
    case 'int32':
      return { dtype: number, values: new Int32Array(size) };
    case 'bool':
      return { dtype: number, values: new Uint8Array(size) };
    case 'complex64':
      return { dtype: number, values: new Float32Array(2 * size) };
    default:
      return { dtype: number, values: Array.from({ length: size }, () => new Uint8Array(0)) };
  }
}

function invalid(what: string, expected: string): TftrtError {
  return new TftrtError('TFTRT_INVALID_ARGUMENT', `createInferenceGraph: ${what}; expected ${expected}.`);
}
