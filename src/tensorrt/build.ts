import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { type DataType, type TensorInfo, util } from '@tensorflow/tfjs-core';
import type { TftrtBackend } from '../backend/backend';
import { toTFDataType } from '../dtypes';
import { TftrtError } from '../errors';
import type { Handle } from '../native';
import { runnersDiffer } from '../program/compare';
import { type Program, placedOptions } from '../program/program';
import type { Request } from '../program/requests';
import { CallableRunner, type Runner } from '../program/runner';
import { nextTurn } from '../turn';
import { readNotConverted } from './build_log';
import { runBuildProcess } from './build_process';
import { type BuildRequest, type StoredTensor, storeTensor } from './build_request';
import { engineKey, findEngines, forgetEngines, keepEngines, newEngineFolder } from './engine_cache';
import {
  type BuildOptions,
  type BuildProgress,
  deviceOption,
  invalid,
  type ModelInputs,
  type ResolvedOptions,
  resolveOptions,
} from './options';
import {
  type BuildProfile,
  bindSample,
  type Corners,
  type DeclaredInput,
  hold,
  profilesOf,
} from './profiles';
import { ConversionReport, type EngineReport, type NativeReport, type ProfileReport } from './report';

/** What a model of any kind tells `build`. */
export interface Buildable {
  readonly label: string;
  readonly backend: TftrtBackend;
  readonly program: Program;
  /** The model's own checks of a call. */
  bind(inputs: ModelInputs, outputs?: string | string[]): { request: Request; inputs: readonly TensorInfo[] };
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

/**
 * Builds engines for a model, or takes them from the cache, and has them serve where they are right and faster. In the
 * background it does not keep this process from ending.
 */
export async function buildModel(
  model: Buildable,
  options: BuildOptions,
  background = false,
): Promise<ConversionReport> {
  const { addon } = model.backend.runtime;
  // Engines are not built in the background meanwhile.
  const claimed = !background && addon.claimBuild();
  try {
    return await new Build(model, options, background).run();
  } finally {
    if (claimed) addon.endBuild();
  }
}

/** Engines in a folder, and what is known of them. */
interface FoundEngines {
  readonly content: EngineContent;
  readonly directory: string;
  readonly fromCache: boolean;
  /** Whether the folder goes with the build. */
  readonly temporary: boolean;
}

class Build {
  private readonly options: ResolvedOptions;
  private readonly begun = performance.now();
  /** Samples, held until the end whoever disposes of them meanwhile. */
  private readonly held: TensorInfo[] = [];

  constructor(
    private readonly model: Buildable,
    private readonly given: BuildOptions,
    private readonly background: boolean,
  ) {
    this.options = resolveOptions(given, model.backend.runtime.configuration);
  }

  async run(): Promise<ConversionReport> {
    const { model, options } = this;
    const { backend, program } = model;
    const { addon } = backend.runtime;
    let graph: Handle | undefined;
    try {
      this.tell('preparing', 'reading the model');
      const { profiles, request } = profilesOf(model, this.given, this.held);
      const calibration = this.calibrationSets();
      graph = await program.tierSource().graph(request.feeds, request.fetches);
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
    } catch (error) {
      program.requireLive(); // disposed of meanwhile: that says more
      throw error;
    } finally {
      if (graph !== undefined) addon.releaseGraph(graph);
      for (const info of this.held) backend.letGo(info);
    }
  }

  private async buildProfile(
    profile: BuildProfile,
    request: Request,
    graph: Handle,
    calibration: TensorInfo[][],
  ): Promise<{ report: ProfileReport; content: EngineContent }> {
    const found = await this.engines(profile, graph, calibration);
    try {
      return { content: found.content, report: await this.serve(profile, request, graph, found) };
    } finally {
      if (found.temporary) fs.rmSync(found.directory, { recursive: true, force: true });
    }
  }

  /**
   * TensorFlow's way to run the model, after a first run, in which it chooses its algorithms. That waits until the engines have
   * their memory: TensorRT does not survive it where the run takes that first.
   */
  private async reference(
    profile: BuildProfile,
    { feeds, fetches }: Request,
    loading: Promise<unknown>,
  ): Promise<Runner> {
    const { backend, program } = this.model;
    const runner = await program.baseAsync(feeds, fetches);
    await loading;
    for (const { dataId } of await runner.runAsync(backend, profile.checks[0]!)) backend.disposeData(dataId);
    return runner;
  }

  /** Engines from the cache, or new ones. */
  private async engines(
    profile: BuildProfile,
    graph: Handle,
    calibration: TensorInfo[][],
  ): Promise<FoundEngines> {
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
      calibration: calibrates ? await hashOfSets(model.backend, calibration, tables) : null,
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
        const { content, directory } = known;
        return { content: content as EngineContent, directory, fromCache: true, temporary: false };
      }
    }
    const { folder, inCache } = newEngineFolder(key);
    try {
      const content = await this.buildInto(folder, profile, graph, calibration, tables, {
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

  private async buildInto(
    folder: string,
    profile: BuildProfile,
    graph: Handle,
    calibration: TensorInfo[][],
    calibrationTables: Record<string, string>,
    endpoints: { feeds: string[]; fetches: string[]; initializers: string[] },
  ): Promise<EngineContent> {
    const { options, model } = this;
    const { backend } = model;
    await backend.runtime.addon.writeGraph(graph, path.join(folder, 'source.pb'));
    const store = async (
      kind: string,
      sets: readonly (readonly TensorInfo[])[],
    ): Promise<StoredTensor[][]> => {
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
    const calibrates = options.precision === 'INT8' && options.useCalibration;
    const request: BuildRequest = {
      precision: options.precision,
      device: deviceOption(backend.runtime),
      graphFile: 'source.pb',
      ...endpoints,
      samples: await store('sample', profile.samples),
      calibration:
        calibrates && Object.keys(calibrationTables).length === 0
          ? await store('calibration', calibration)
          : [],
      calibrationTables,
      minimumSegmentSize: options.minimumSegmentSize,
      maxWorkspaceSizeBytes: options.maxWorkspaceSizeBytes,
      maximumCachedEngines: options.maximumCachedEngines,
      useCalibration: options.useCalibration,
      implicitBatch: calibrates,
      profileStrategy: profile.tuned ? 'Range+Optimal' : 'Range',
      embed: false,
      maxBatchSize: 0,
      nameSuffix: '',
    };
    const begun = performance.now();
    const { built, log, notConverted } = await runBuildProcess(
      folder,
      request,
      (stage) => this.tell(stage as BuildProgress['stage'], `${stage} (${describeCorners(profile.corners)})`),
      this.background,
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
    { content, directory, fromCache }: FoundEngines,
  ): Promise<ProfileReport> {
    const { options, model } = this;
    const { backend, program } = model;
    const { runtime } = backend;
    const { addon } = runtime;
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
    // What is loaded here goes again, unless it serves in the end: then the tiers own it.
    const loaded: Array<() => void> = [];
    const dispose = () => {
      for (const release of loaded.splice(0).reverse()) release();
    };
    let serving = false;
    try {
      const load = (onArena: boolean) => addon.loadEngineProgram(directory, names, initializers, onArena);
      const loading = load(false);
      const [engines, onArena, tensorFlow] = await Promise.allSettled([
        loading,
        runtime.arenaName === '' ? undefined : load(true),
        this.reference(profile, request, loading),
      ]);
      for (const one of [engines, onArena]) {
        if (one.status === 'rejected' || one.value === undefined) continue;
        const { value } = one;
        loaded.push(() => addon.releaseProgram(value));
      }
      if (engines.status === 'rejected') {
        // Next time they are built anew.
        if (fromCache) forgetEngines(path.basename(directory));
        throw engines.reason;
      }
      if (tensorFlow.status === 'rejected') throw tensorFlow.reason;
      const handle = engines.value;
      const base = tensorFlow.value;
      // Without it, engines serve as a callable.
      const arena = onArena.status === 'fulfilled' ? onArena.value : undefined;
      const placed = placedOptions(runtime, handle, feeds, fetches);
      const callable = await addon.createCallable(true, handle, placed);
      loaded.push(() => addon.releaseCallable(callable));
      const runner = new CallableRunner('tensorrt', callable, fetches.length);
      this.tell('verifying', "comparing with TensorFlow's outputs");
      let difference = 0;
      for (const sample of profile.checks) {
        difference = Math.max(difference, await runnersDiffer(backend, base, runner, sample));
      }
      if (!(difference <= options.tolerance)) {
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
        return report({
          serving: 'tensorflow',
          reason: 'TensorFlow was faster',
          difference,
          latencyMs,
          captureReason: 'TensorFlow serves',
        });
      }
      const tiers = program.tiers(backend);
      tiers.addEngines(request.key, request.feeds, request.fetches, {
        ...profile.corners,
        runner,
        ...(arena === undefined ? {} : { arena: { program: arena, feeds, fetches } }),
        dispose,
      });
      serving = true;
      this.tell('capturing', 'recording CUDA graphs');
      const captureReason = await tiers.captureNow(request.key, request.feeds, request.fetches, sample);
      return report({
        serving: 'tensorrt',
        reason: 'right and faster',
        difference,
        latencyMs,
        captured: captureReason === undefined,
        ...(captureReason === undefined ? {} : { captureReason }),
      });
    } finally {
      if (!serving) dispose();
    }
  }

  /** Median time of a run on the device, ms. */
  private async time(runner: Runner, inputs: readonly TensorInfo[]): Promise<number> {
    const { backend } = this.model;
    const times: number[] = [];
    for (const input of inputs) backend.handle(input);
    for (let i = 0; i < TIMED_RUNS; i++) {
      await nextTurn();
      backend.runtime.addon.synchronize();
      const begun = performance.now();
      const outputs = runner.run(backend, inputs);
      backend.runtime.addon.synchronize();
      times.push(performance.now() - begun);
      for (const { dataId } of outputs) backend.disposeData(dataId);
    }
    return times.sort((a, b) => a - b)[TIMED_RUNS / 2]!;
  }

  private calibrationSets(): TensorInfo[][] {
    const { calibration, outputs } = this.given;
    if (calibration === undefined || !('inputs' in calibration)) return [];
    return calibration.inputs.map((inputs) => {
      const set = [...bindSample(this.model, inputs, outputs).inputs];
      hold(this.model.backend, set, this.held);
      return set;
    });
  }

  /** The tables of one profile: `calibrationTable` of a report has them under the profile's number. */
  private calibrationTables(profile: number): Record<string, string> {
    const { calibration } = this.given;
    if (calibration === undefined || !('table' in calibration)) return {};
    let all: Record<string, string> | null;
    try {
      all = JSON.parse(calibration.table);
    } catch {
      all = null;
    }
    if (all === null || typeof all !== 'object') {
      throw invalid('calibration.table is damaged', '`calibrationTable` of a report');
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
async function hashOfSets(
  backend: TftrtBackend,
  sets: readonly TensorInfo[][],
  tables: Record<string, string>,
): Promise<string> {
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
