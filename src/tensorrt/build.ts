import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { type DataType, type Tensor, type TensorInfo, util } from '@tensorflow/tfjs-core';
import type { TftrtBackend } from '../backend/backend';
import { toTFDataType } from '../dtypes';
import { TftrtError } from '../errors';
import type { Handle } from '../native';
import { differs } from '../program/compare';
import { callableKey, type Program, placedOptions } from '../program/program';
import type { Request } from '../program/requests';
import { CallableRunner, type Runner } from '../program/runner';
import { readNotConverted } from './build_log';
import { runBuildProcess } from './build_process';
import { type BuildRequest, type StoredTensor, storeTensor } from './build_request';
import { engineKey, findEngines, keepEngines, newEngineFolder } from './engine_cache';
import {
  type BuildOptions,
  type BuildProgress,
  invalid,
  type ModelInputs,
  type ResolvedOptions,
  resolveOptions,
} from './options';
import { type BuildProfile, type Corners, type DeclaredInput, profilesOf } from './profiles';
import { ConversionReport, type EngineReport, type NativeReport, type ProfileReport } from './report';

/** What a model of any kind tells `build`. */
export interface Buildable {
  readonly label: string;
  readonly backend: TftrtBackend;
  readonly program: Program;
  /** The model's own checks of a call. */
  bind(inputs: ModelInputs, outputs?: string | string[]): { request: Request; inputs: Tensor[] };
  declaredInputs(): DeclaredInput[];
}

const DEFAULT_CACHE_BYTES = 20 * 2 ** 30;
const TIMED_RUNS = 20;

/** What a builder said of engines; kept in the cache with them. */
interface EngineContent {
  readonly engines: Omit<EngineReport, 'fromCache'>[];
  readonly native: NativeReport[];
  readonly initializers: string[];
  readonly calibrationTables: Record<string, string>;
}

/** Builds engines for a model, or takes them from the cache, and has them serve where they are right and faster. */
export async function buildModel(model: Buildable, options: BuildOptions): Promise<ConversionReport> {
  return new Build(model, options).run();
}

class Build {
  private readonly options: ResolvedOptions;
  private readonly begun = performance.now();
  private readonly owned: TensorInfo[] = [];

  constructor(
    private readonly model: Buildable,
    private readonly given: BuildOptions,
  ) {
    this.options = resolveOptions(given, model.backend.runtime.configuration);
  }

  async run(): Promise<ConversionReport> {
    const { model, options } = this;
    const { backend, program } = model;
    const { addon } = backend.runtime;
    this.tell('preparing', 'reading the model');
    const { profiles, request } = profilesOf(model, this.given, this.owned);
    const calibration = this.calibrationSets();
    const graph = await program.tierSource().graph(request.feeds, request.fetches);
    try {
      const reports: ProfileReport[] = [];
      const tables: Record<string, string> = {};
      for (const [index, profile] of profiles.entries()) {
        const { report, content } = await this.buildProfile(profile, request, graph, calibration);
        reports.push(report);
        for (const [engine, table] of Object.entries(content.calibrationTables))
          tables[`${index}/${engine}`] = table;
      }
      this.tell('done', 'done');
      return new ConversionReport(
        model.label,
        options.precision,
        reports,
        performance.now() - this.begun,
        Object.keys(tables).length > 0 ? JSON.stringify(tables) : undefined,
      );
    } finally {
      addon.releaseGraph(graph);
      for (const { dataId } of this.owned) backend.disposeData(dataId);
    }
  }

  private async buildProfile(
    profile: BuildProfile,
    request: Request,
    graph: Handle,
    calibration: Tensor[][],
  ): Promise<{ report: ProfileReport; content: EngineContent }> {
    const { content, directory, fromCache } = await this.engines(profile, graph, calibration);
    try {
      return { content, report: await this.serve(profile, request, graph, directory, content, fromCache) };
    } finally {
      if (!this.options.cache) fs.rmSync(directory, { recursive: true, force: true });
    }
  }

  /** Engines from the cache, or new ones. */
  private async engines(
    profile: BuildProfile,
    graph: Handle,
    calibration: Tensor[][],
  ): Promise<{ content: EngineContent; directory: string; fromCache: boolean }> {
    const { options, model } = this;
    const { runtime } = model.backend;
    const { feeds, fetches, initializers, fingerprint } = runtime.addon.describeGraph(graph);
    const calibrates = options.precision === 'INT8' && options.useCalibration;
    if (calibrates && !profile.fixed) {
      throw invalid(
        'INT8 is calibrated for fixed shapes',
        'profiles whose min and max are equal, one for each shape',
      );
    }
    const tables = this.calibrationTables(profile.index);
    const { tolerance: _tolerance, force: _force, cache: _cache, ...decisive } = options;
    const key = engineKey({
      fingerprint,
      ...decisive,
      corners: profile.corners,
      calibration: calibrates ? hashOfSets(model.backend, calibration, tables) : null,
      tensorFlow: runtime.tensorFlowVersion,
      tensorRt: runtime.addon.tensorRtVersions().loaded,
      gpu: runtime.addon
        .devices()
        .find(({ name }) => name === runtime.deviceName)
        ?.description.replace(/pci bus id: [^,]*/, ''),
    });
    if (options.cache) {
      this.tell('loading', 'looking for engines in the cache');
      const known = await findEngines(key);
      if (known !== undefined) {
        return { content: known.content as EngineContent, directory: known.directory, fromCache: true };
      }
    }
    const folder = newEngineFolder(key);
    try {
      const content = await this.buildInto(folder, profile, graph, calibration, tables, {
        feeds,
        fetches,
        initializers,
      });
      if (!options.cache) return { content, directory: folder, fromCache: false };
      const limit = runtime.configuration.engineCacheBytes ?? DEFAULT_CACHE_BYTES;
      const kept = await keepEngines(key, folder, content, limit);
      return { content: kept.content as EngineContent, directory: kept.directory, fromCache: false };
    } catch (error) {
      fs.rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  private async buildInto(
    folder: string,
    profile: BuildProfile,
    graph: Handle,
    calibration: Tensor[][],
    calibrationTables: Record<string, string>,
    endpoints: { feeds: string[]; fetches: string[]; initializers: string[] },
  ): Promise<EngineContent> {
    const { options, model } = this;
    const { backend } = model;
    await backend.runtime.addon.writeGraph(graph, path.join(folder, 'source.pb'));
    const store = (kind: string, sets: readonly (readonly TensorInfo[])[]): StoredTensor[][] =>
      sets.map((set, i) =>
        set.map((tensor, j) => storeTensor(folder, `${kind}_${i}_${j}.bin`, hostTensor(backend, tensor))),
      );
    const calibrates = options.precision === 'INT8' && options.useCalibration;
    const request: BuildRequest = {
      precision: options.precision,
      device: deviceOption(backend),
      graphFile: 'source.pb',
      ...endpoints,
      samples: store('sample', profile.samples),
      calibration:
        calibrates && Object.keys(calibrationTables).length === 0 ? store('calibration', calibration) : [],
      calibrationTables,
      minimumSegmentSize: options.minimumSegmentSize,
      maxWorkspaceSizeBytes: options.maxWorkspaceSizeBytes,
      maximumCachedEngines: options.maximumCachedEngines,
      useCalibration: options.useCalibration,
      implicitBatch: calibrates,
      profileStrategy: profile.tuned ? 'Range+Optimal' : 'Range',
      embed: false,
    };
    const begun = performance.now();
    const { built, log, notConverted } = await runBuildProcess(folder, request, (stage) =>
      this.tell(stage as BuildProgress['stage'], `${stage} (${describeCorners(profile.corners)})`),
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
          `${log.failed[failed.name] ?? log.problems.at(-1) ?? 'it gave no reason'}. TensorFlow goes on serving the model.`,
      );
    }
    return {
      engines,
      native: nativeOps(built.native, readNotConverted(notConverted), options.minimumSegmentSize),
      initializers: endpoints.initializers,
      calibrationTables: built.calibrationTables,
    };
  }

  /** Loads engines, compares and times them against TensorFlow, and has them serve if they win. */
  private async serve(
    profile: BuildProfile,
    request: Request,
    graph: Handle,
    directory: string,
    content: EngineContent,
    fromCache: boolean,
  ): Promise<ProfileReport> {
    const { options, model } = this;
    const { backend, program } = model;
    const { runtime } = backend;
    const { addon } = runtime;
    const base = program.base(request.feeds, request.fetches);
    const report = (
      rest: Pick<ProfileReport, 'serving' | 'reason'> & Partial<ProfileReport>,
    ): ProfileReport => ({
      shapes: profile.corners.min.map((_, i) =>
        profile.fixed
          ? [profile.corners.min[i]!]
          : [profile.corners.min[i]!, profile.corners.opt[i]!, profile.corners.max[i]!],
      ),
      engines: content.engines.map((engine) => ({ ...engine, fromCache })),
      native: content.native,
      tolerance: options.tolerance,
      captured: false,
      ...rest,
    });
    if (content.engines.length === 0) {
      return report({
        serving: 'tensorflow',
        reason: 'TensorRT can compute no part of the graph that is large enough',
        captureReason: 'TensorFlow serves',
      });
    }
    const names = content.engines.map(({ name }) => name);
    const { feeds, fetches, initializers } = addon.describeGraph(graph);
    this.tell('loading', 'loading the engines');
    const handle = await addon.loadEngineProgram(directory, names, initializers, false);
    let arena: Handle | undefined;
    const release = () => {
      addon.releaseProgram(handle);
      if (arena !== undefined) addon.releaseProgram(arena);
    };
    try {
      const callable = await addon.createCallable(
        true,
        handle,
        placedOptions(runtime, handle, feeds, fetches),
      );
      const runner = new CallableRunner('tensorrt', callable, fetches.length);
      const dispose = () => {
        addon.releaseCallable(callable);
        release();
      };
      this.tell('verifying', "comparing with TensorFlow's outputs");
      let difference = 0;
      for (const sample of profile.samples) {
        const expected = await base.runAsync(backend, sample);
        difference = Math.max(
          difference,
          await differs(backend, expected, await runner.runAsync(backend, sample)),
        );
      }
      if (!(difference <= options.tolerance)) {
        dispose();
        return report({
          serving: 'tensorflow',
          reason: `the engines' outputs differ from TensorFlow's by ${difference.toPrecision(2)} of their largest value, more than the tolerance of ${options.tolerance}`,
          difference,
          captureReason: 'TensorFlow serves',
        });
      }
      const sample = profile.samples.at(-1)!;
      const tensorflow = await this.time(base, sample);
      const tensorrt = await this.time(runner, sample);
      const latencyMs = { tensorflow, tensorrt };
      if (tensorrt > tensorflow && !options.force) {
        dispose();
        return report({
          serving: 'tensorflow',
          reason: 'TensorFlow was faster',
          difference,
          latencyMs,
          captureReason: 'TensorFlow serves',
        });
      }
      if (runtime.arenaName !== '') {
        arena = await addon.loadEngineProgram(directory, names, initializers, true).catch(() => undefined);
      }
      const key = callableKey(request.feeds, request.fetches);
      const tiers = program.tiers(backend);
      tiers.addEngines(key, request.feeds, request.fetches, {
        ...profile.corners,
        runner,
        ...(arena === undefined ? {} : { arena: { program: arena, feeds, fetches } }),
        dispose,
      });
      this.tell('capturing', 'recording CUDA graphs');
      let captureReason: string | undefined;
      for (const set of profile.samples) {
        captureReason ??= await tiers.captureNow(key, request.feeds, request.fetches, set);
      }
      return report({
        serving: 'tensorrt',
        reason: 'right and faster',
        difference,
        latencyMs,
        captured: captureReason === undefined,
        ...(captureReason === undefined ? {} : { captureReason }),
      });
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Median time of a run on the device, ms. */
  private async time(runner: Runner, inputs: readonly TensorInfo[]): Promise<number> {
    const { backend } = this.model;
    const times: number[] = [];
    for (const input of inputs) backend.handle(input);
    for (let i = 0; i < TIMED_RUNS; i++) {
      await new Promise(setImmediate);
      backend.runtime.addon.synchronize();
      const begun = performance.now();
      const outputs = runner.run(backend, inputs);
      backend.runtime.addon.synchronize();
      times.push(performance.now() - begun);
      for (const { dataId } of outputs) backend.disposeData(dataId);
    }
    return times.sort((a, b) => a - b)[TIMED_RUNS / 2]!;
  }

  private calibrationSets(): Tensor[][] {
    const { calibration, outputs } = this.given;
    if (calibration === undefined || !('inputs' in calibration)) return [];
    if (!Array.isArray(calibration.inputs) || calibration.inputs.length === 0) {
      throw invalid('calibration.inputs is empty', 'sample inputs, each as for predict');
    }
    return calibration.inputs.map((inputs) => this.model.bind(inputs, outputs).inputs);
  }

  /** The tables of one profile: `calibrationTable` of a report has them under the profile's number. */
  private calibrationTables(profile: number): Record<string, string> {
    const { calibration } = this.given;
    if (calibration === undefined || !('table' in calibration)) return {};
    let all: Record<string, string>;
    try {
      all = JSON.parse(calibration.table);
    } catch (cause) {
      throw invalid(
        `calibration.table is not JSON (${(cause as Error).message})`,
        'calibrationTable of a report',
      );
    }
    const prefix = `${profile}/`;
    return Object.fromEntries(
      Object.entries(all)
        .filter(([name]) => name.startsWith(prefix))
        .map(([name, table]) => [name.slice(prefix.length), table]),
    );
  }

  private tell(stage: BuildProgress['stage'], message: string): void {
    this.given.onProgress?.({ stage, message, elapsedMs: performance.now() - this.begun });
  }
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

function hostTensor(backend: TftrtBackend, tensor: TensorInfo) {
  const values = backend.hostValues(tensor) as unknown;
  return {
    dtype: toTFDataType(tensor.dtype as DataType),
    shape: tensor.shape,
    values: values as ArrayBufferView | Uint8Array[],
  };
}

/** Names what calibration depends on. */
function hashOfSets(
  backend: TftrtBackend,
  sets: readonly Tensor[][],
  tables: Record<string, string>,
): string {
  const hash = createHash('sha256').update(JSON.stringify(tables));
  for (const set of sets) {
    for (const tensor of set) {
      const { shape, values } = hostTensor(backend, tensor);
      hash.update(shape.join());
      if (Array.isArray(values)) for (const bytes of values) hash.update(bytes);
      else hash.update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    }
  }
  return hash.digest('hex');
}

/** The device for the process that builds: the same GPU. */
function deviceOption(backend: TftrtBackend): string {
  return backend.runtime.device;
}

function describeCorners({ min, max }: Corners): string {
  return min
    .map((shape, i) => (util.arraysEqual(shape, max[i]!) ? `[${shape}]` : `[${shape}]…[${max[i]}]`))
    .join(', ');
}
