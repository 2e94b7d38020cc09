import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { type DataType, type TensorInfo, util } from '@tensorflow/tfjs-core';
import type { TftrtBackend } from '../backend/backend';
import { toTFDataType } from '../dtypes';
import { TftrtError } from '../errors';
import type { Handle } from '../native';
import { nextTurn } from '../turn';
import { readNotConverted } from './build_log';
import { type BuildMemory, memoryAdvice, memoryLimitOf, workspaceBound } from './build_memory';
import { runBuildProcess } from './build_process';
import { type BuildRequest, type StoredTensor, storeTensor } from './build_request';
import type { BuildContext } from './context';
import { engineKey, findEngines, keepEngines, newEngineFolder } from './engine_cache';
import { type BuildProgress, decisiveOptions, deviceOption, invalid, isCalibrated } from './options';
import type { BuildProfile, Corners } from './profiles';
import type { EngineReport, NativeReport } from './report';

const DEFAULT_CACHE_BYTES = 20 * 2 ** 30;

/** What a builder said of engines; kept in the cache with them. */
export interface EngineContent {
  readonly engines: Omit<EngineReport, 'fromCache'>[];
  readonly native: NativeReport[];
  readonly initializers: string[];
  readonly calibrationTables: Record<string, string>;
  readonly memory?: BuildMemory;
}

/** Engines in a folder, and what is known of them. */
export interface FoundEngines {
  readonly content: EngineContent;
  readonly directory: string;
  readonly fromCache: boolean;
  /** Whether the folder goes with the build. */
  readonly temporary: boolean;
}

/** What INT8 takes its ranges from. */
export interface Calibration {
  readonly sets: readonly TensorInfo[][];
  /** By engine. */
  readonly tables: Record<string, string>;
}

/** Engines from the cache, or new ones: calibrated with inputs, or with the tables of a report. */
export async function findOrBuildEngines(
  context: BuildContext,
  profile: BuildProfile,
  graph: Handle,
  calibration: Calibration,
): Promise<FoundEngines> {
  const { options, model } = context;
  const { runtime } = model.backend;
  const { feeds, fetches, initializers, fingerprint } = runtime.addon.describeGraph(graph);
  const calibrated = isCalibrated(options);
  if (calibrated && !profile.fixed) {
    throw invalid(
      'INT8 is calibrated for fixed shapes',
      'profiles whose min and max are equal, one for each shape',
    );
  }
  const key = engineKey({
    fingerprint,
    ...decisiveOptions(options),
    corners: profile.corners,
    calibration: calibrated ? await hashOfSets(model.backend, calibration) : null,
    tensorFlow: runtime.tensorFlowVersion,
    tensorRt: runtime.addon.tensorRtVersions().loaded,
    gpu: runtime.addon
      .devices()
      .find(({ name }) => name === runtime.deviceName)
      ?.description.replace(/pci bus id: [^,]*/, ''),
  });
  if (options.cache) {
    context.tell('loading', 'looking for engines in the cache');
    const known = await findEngines(key);
    if (known !== undefined) {
      const { content, directory } = known;
      return { content: content as EngineContent, directory, fromCache: true, temporary: false };
    }
  }
  const { folder, inCache } = newEngineFolder(key);
  try {
    const content = await buildInto(context, folder, profile, graph, calibration, {
      feeds,
      fetches,
      initializers,
    });
    const limit = runtime.configuration.engineCacheBytes ?? DEFAULT_CACHE_BYTES;
    const kept = options.cache && inCache ? await keepEngines(key, folder, content, limit) : undefined;
    if (kept === undefined) return { content, directory: folder, fromCache: false, temporary: true };
    return {
      content: kept.content as EngineContent,
      directory: kept.directory,
      fromCache: false,
      temporary: false,
    };
  } catch (error) {
    fs.rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

async function buildInto(
  context: BuildContext,
  folder: string,
  profile: BuildProfile,
  graph: Handle,
  calibration: Calibration,
  endpoints: { feeds: string[]; fetches: string[]; initializers: string[] },
): Promise<EngineContent> {
  const { options, model } = context;
  const { backend } = model;
  await backend.runtime.addon.writeGraph(graph, path.join(folder, 'source.pb'));
  const store = async (kind: string, sets: readonly (readonly TensorInfo[])[]): Promise<StoredTensor[][]> => {
    const stored: StoredTensor[][] = [];
    for (const [i, set] of sets.entries()) {
      stored.push([]);
      for (const [j, tensor] of set.entries()) {
        const file = `${kind}_${i}_${j}.bin`;
        stored[i]!.push(await storeTensor(folder, file, await hostTensor(backend, tensor)));
      }
    }
    return stored;
  };
  const calibrated = isCalibrated(options);
  const request: BuildRequest = {
    precision: options.precision,
    device: deviceOption(backend.runtime),
    memoryLimit: memoryLimitOf(backend.runtime.configuration),
    graphFile: 'source.pb',
    ...endpoints,
    samples: await store('sample', profile.samples),
    calibration:
      calibrated && Object.keys(calibration.tables).length === 0
        ? await store('calibration', calibration.sets)
        : [],
    calibrationTables: calibration.tables,
    minimumSegmentSize: options.minimumSegmentSize,
    maxWorkspaceSizeBytes: options.maxWorkspaceSizeBytes,
    workspaceBound: workspaceBound(backend.runtime),
    useCalibration: options.useCalibration,
    implicitBatch: calibrated,
    profileStrategy: profile.tuned ? 'Range+Optimal' : 'Range',
    embed: false,
    maxBatchSize: 0,
    nameSuffix: '',
  };
  const begun = performance.now();
  const { built, log, notConverted, memory } = await runBuildProcess(
    folder,
    request,
    (stage) =>
      context.tell(stage as BuildProgress['stage'], `${stage} (${describeCorners(profile.corners)})`),
    context.background,
  );
  const totalMs = performance.now() - begun;
  const engines = built.engines.map((name) => {
    const ops = count((built.segments[name] ?? []).filter((op) => !isBookkeeping(op)));
    const file = path.join(folder, `${name}.engine`);
    return {
      name,
      precision: options.precision,
      nodes: Object.values(ops).reduce((sum, n) => sum + n, 0),
      ops,
      sizeBytes: fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0,
      buildMs: log.buildMs[name] ?? totalMs / built.engines.length,
    };
  });
  const failed = engines.find(({ name, sizeBytes }) => log.failed[name] !== undefined || sizeBytes === 0);
  if (failed !== undefined) {
    throw new TftrtError(
      'TFTRT_ENGINE_BUILD_FAILED',
      `TensorRT could not build the engine ${failed.name} (${failed.nodes} nodes) of ${model.label}: ` +
        `${log.failed[failed.name] ?? log.problems.at(-1) ?? 'it gave no reason'}. TensorFlow goes on serving the model.${memoryAdvice(log.lack, request)}`,
    );
  }
  return {
    engines,
    native: nativeOps(built.native, readNotConverted(notConverted), options.minimumSegmentSize),
    initializers: endpoints.initializers,
    calibrationTables: built.calibrationTables,
    ...(memory === undefined ? {} : { memory }),
  };
}

/** The ops that stayed in TensorFlow, each with TF-TRT's reason, or what can be said without one. */
function nativeOps(
  ops: readonly string[],
  rejected: ReturnType<typeof readNotConverted>,
  minimumSegmentSize: number,
): NativeReport[] {
  return Object.entries(count(ops.filter((op) => !isBookkeeping(op)))).map(([op, number]) => {
    const reasons = rejected.filter((row) => row.op === op).map(({ reason }) => reason);
    const reason =
      reasons.length > 0
        ? [...new Set(reasons)].join('; ')
        : `in a part of fewer than ${minimumSegmentSize} nodes that TensorRT could compute`;
    return { op, count: number, reason };
  });
}

/** Nodes that compute nothing. */
function isBookkeeping(op: string): boolean {
  return ['Const', 'Placeholder', 'Identity', 'NoOp', '_Arg', '_Retval'].includes(op);
}

function count(ops: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const op of ops) counts[op] = (counts[op] ?? 0) + 1;
  return counts;
}

/** A copy of a tensor's values, made off the event loop: samples may be hundreds of megabytes. */
async function hostTensor(backend: TftrtBackend, tensor: TensorInfo) {
  await nextTurn(); // what is on the host is copied at once
  const values = (await backend.read(tensor.dataId)) as unknown;
  return {
    dtype: toTFDataType(tensor.dtype as DataType),
    shape: tensor.shape,
    values: values as ArrayBufferView | Uint8Array[],
  };
}

/** Names what calibration depends on. */
async function hashOfSets(backend: TftrtBackend, { sets, tables }: Calibration): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(tables));
  for (const set of sets) {
    for (const tensor of set) {
      const { shape, values } = await hostTensor(backend, tensor);
      hash.update(shape.join());
      if (Array.isArray(values)) for (const bytes of values) hash.update(bytes);
      else hash.update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    }
  }
  return hash.digest('hex');
}

function describeCorners({ min, max }: Corners): string {
  return min
    .map((shape, i) => (util.arraysEqual(shape, max[i]!) ? `[${shape}]` : `[${shape}]…[${max[i]}]`))
    .join(', ');
}
