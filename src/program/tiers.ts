import { type DataType, type TensorInfo, util } from '@tensorflow/tfjs-core';
import type { TftrtBackend } from '../backend/backend';
import { disposedModel } from '../errors';
import { inTurn } from '../in_turn';
import type { Handle } from '../native';
import { runnersDiffer } from './compare';
import { CapturedRunner, passHandles, type Runner } from './runner';

/** After so many runs with the same shapes a graph is captured, in the background. */
const RUNS_BEFORE_CAPTURE = 10;
/** After so many that TensorFlow served, they are told of as recurring. */
export const RUNS_BEFORE_BUILD = 50;
/** Sets of shapes of which the runs are counted; models that meet more stay as they are for the rest. */
const MOST_VARIANTS = 32;
/** A replay computes what the run that was recorded did; kernels that add in no fixed order may differ by this. */
const CAPTURE_TOLERANCE = 1e-5;

/** How often each tier served, in this thread. */
export const tierCounts = { tensorflow: 0, tensorrt: 0, cudaGraphs: 0, outsideProfiles: 0, retired: 0 };

/** Sets of shapes that are no CUDA graph, by the reason, in this thread. */
export const notCaptured: Record<string, number> = {};

function refuse(variant: Variant, reason: string): void {
  variant.capture = 'refused';
  variant.reason = reason;
  notCaptured[reason] = (notCaptured[reason] ?? 0) + 1;
}

/** What the tiers need of the program below them. */
export interface TierSource {
  readonly label: string;
  /** tensorflow.ConfigProto in JSON, for sessions that run the same graph. */
  readonly sessionConfig: string;
  /** A canonical graph for these feeds and fetches; the caller releases it. */
  graph(feeds: readonly string[], fetches: readonly string[]): Promise<Handle>;
  /** The program's own way to run them. */
  base(feeds: string[], fetches: string[]): Runner;
}

/** Engines for shapes between two corners. */
export interface EngineTier {
  readonly min: readonly number[][];
  readonly max: readonly number[][];
  /** TensorRT as a callable; made into CUDA graphs for shapes that recur. */
  readonly runner: Runner;
  /** A program of the same engines on the arena, and its endpoints. */
  readonly arena?: ArenaProgram;
  /** The shapes that are, or were, recorded. */
  recordedShapes?: string;
  dispose(): void;
}

/** A program whose nodes are on the arena. */
export interface ArenaProgram {
  readonly program: Handle;
  readonly feeds: readonly string[];
  readonly fetches: readonly string[];
}

/** One set of shapes of a set of feeds and fetches. */
interface Variant {
  readonly shapes: readonly number[][];
  readonly dtypes: readonly DataType[];
  /** Until it is captured. */
  runs: number;
  /** Until it is told of. */
  recurrences: number;
  /** Above the program's own; undefined while there is none. */
  runner: Runner | undefined;
  capture: 'untried' | 'pending' | 'done' | 'refused';
  /** Counts captures, and what makes one that is under way pointless. */
  attempt: number;
  /** Why it was refused. */
  reason?: string;
}

interface Signature {
  readonly feeds: string[];
  readonly fetches: string[];
  readonly variants: Variant[];
  /** The newest first. */
  engines: EngineTier[];
  /** TensorFlow's own kernels on the arena, for all variants. */
  arena?: Promise<ArenaProgram>;
}

/**
 * What serves above a program's own callables: CUDA graphs of them, TensorRT engines, and CUDA graphs of those. Never wrong,
 * only slower: what fails or differs is retired, and the tier below serves.
 */
export class Tiers {
  private readonly signatures = new Map<string, Signature>();
  private disposed = false;

  constructor(
    private readonly backend: TftrtBackend,
    private readonly source: TierSource,
    /** Told, within the call, of one that recurs; returns false to be told again later. */
    private readonly onRecurring: (
      feeds: string[],
      fetches: string[],
      inputs: readonly TensorInfo[],
    ) => boolean = () => true,
  ) {}

  /** What runs these inputs instead of the program's own callable, if anything. Counts the run. */
  runnerFor(
    key: string,
    feeds: string[],
    fetches: string[],
    inputs: readonly TensorInfo[],
  ): Runner | undefined {
    const signature = this.signature(key, feeds, fetches);
    const variant = this.variant(signature, inputs);
    const runner = variant?.runner;
    if (runner === undefined) tierCounts.tensorflow++;
    else if (runner.kind === 'tensorrt') tierCounts.tensorrt++;
    if (runner?.captured) tierCounts.cudaGraphs++;
    if (signature.engines.length > 0 && runner?.kind !== 'tensorrt') tierCounts.outsideProfiles++;
    if (variant !== undefined && variant.capture === 'untried' && ++variant.runs >= RUNS_BEFORE_CAPTURE) {
      void this.capture(signature, variant, inputs);
    }
    if (variant !== undefined && runner?.kind !== 'tensorrt' && ++variant.recurrences === RUNS_BEFORE_BUILD) {
      if (!this.onRecurring(feeds, fetches, inputs)) variant.recurrences = 0;
    }
    return runner;
  }

  /** A runner failed: the tier below takes over. */
  retire(runner: Runner, error: unknown): void {
    let served = false;
    for (const { variants, engines } of this.signatures.values()) {
      for (const variant of variants) {
        if (variant.runner !== runner) continue;
        served = true;
        // Below a CUDA graph of engines are the engines.
        const below = runner.captured && runner.kind === 'tensorrt';
        variant.runner = below ? engines.find((tier) => within(variant.shapes, tier))?.runner : undefined;
        refuse(variant, (error as Error).message);
        variant.attempt++;
        if (runner.captured) runner.dispose();
      }
    }
    // Of several runs in flight the first to fail counts.
    if (served) tierCounts.retired++;
  }

  /** Has engines serve shapes between their corners from now on. Throws for a model that is disposed of. */
  addEngines(key: string, feeds: string[], fetches: string[], engines: EngineTier): void {
    this.requireLive();
    const signature = this.signature(key, feeds, fetches);
    const replaced = signature.engines.filter(({ min, max }) => within(min, engines) && within(max, engines));
    signature.engines = [engines, ...signature.engines.filter((tier) => !replaced.includes(tier))];
    for (const variant of signature.variants) {
      if (!within(variant.shapes, engines)) continue;
      if (variant.runner?.captured) variant.runner.dispose();
      variant.runner = engines.runner;
      variant.capture = 'untried';
      variant.runs = 0;
      variant.attempt++;
    }
    for (const tier of replaced) tier.dispose();
    this.releaseIdleArena(signature);
  }

  /** Captures what serves these inputs now. Resolves to why it was not captured, or undefined. */
  async captureNow(
    key: string,
    feeds: string[],
    fetches: string[],
    inputs: readonly TensorInfo[],
  ): Promise<string | undefined> {
    this.requireLive();
    const signature = this.signature(key, feeds, fetches);
    const variant = this.variant(signature, inputs);
    if (variant === undefined) return 'too many different shapes';
    if (variant.capture === 'untried') await this.capture(signature, variant, inputs);
    return variant.capture === 'done' ? undefined : (variant.reason ?? 'it is being captured');
  }

  /** For how many sets of shapes, or ranges, there are engines. */
  enginesOf(key: string): number {
    return this.signatures.get(key)?.engines.length ?? 0;
  }

  dispose(): void {
    this.disposed = true;
    for (const signature of this.signatures.values()) {
      for (const variant of signature.variants) if (variant.runner?.captured) variant.runner.dispose();
      for (const engines of signature.engines) engines.dispose();
      if (signature.arena !== undefined) this.releaseArena(signature.arena);
    }
    this.signatures.clear();
  }

  private requireLive(): void {
    if (this.disposed) throw disposedModel(this.source.label);
  }

  private signature(key: string, feeds: string[], fetches: string[]): Signature {
    let signature = this.signatures.get(key);
    if (signature === undefined) {
      signature = { feeds, fetches, variants: [], engines: [] };
      this.signatures.set(key, signature);
    }
    return signature;
  }

  private variant(signature: Signature, inputs: readonly TensorInfo[]): Variant | undefined {
    const { variants } = signature;
    for (const variant of variants) {
      const same = inputs.every(
        ({ shape, dtype }, i) =>
          dtype === variant.dtypes[i] && util.arraysEqual(shape, variant.shapes[i] as number[]),
      );
      if (same) return variant;
    }
    if (variants.length >= MOST_VARIANTS) return undefined;
    const shapes = inputs.map(({ shape }) => shape.slice());
    const engines = signature.engines.find((tier) => within(shapes, tier));
    const variant: Variant = {
      shapes,
      dtypes: inputs.map(({ dtype }) => dtype),
      runs: 0,
      recurrences: 0,
      runner: engines?.runner,
      capture: 'untried',
      attempt: 0,
    };
    variants.push(variant);
    return variant;
  }

  private async capture(
    signature: Signature,
    variant: Variant,
    inputs: readonly TensorInfo[],
  ): Promise<void> {
    const { backend } = this;
    variant.capture = 'pending';
    if (backend.runtime.arenaName === '') {
      refuse(variant, 'there is no memory for it (graphArenaBytes is 0)');
      return;
    }
    const attempt = ++variant.attempt;
    const below = variant.runner;
    const held: TensorInfo[] = [];
    try {
      for (const input of inputs) {
        backend.hold(input);
        held.push(input);
      }
      // Each keeps one of the threads that read and run.
      const runner = await inTurn('capturing', () => this.captured(signature, inputs, below));
      if (this.disposed || variant.attempt !== attempt) {
        runner.dispose();
      } else {
        variant.runner = runner;
        variant.capture = 'done';
      }
    } catch (error) {
      // Meanwhile others may serve, of whom this says nothing.
      if (variant.attempt !== attempt) return;
      refuse(variant, (error as Error).message);
    } finally {
      for (const input of held) backend.letGo(input);
    }
  }

  /** A CUDA graph of what serves the inputs, with the same outputs. */
  private async captured(
    signature: Signature,
    inputs: readonly TensorInfo[],
    below: Runner | undefined,
  ): Promise<Runner> {
    const { backend } = this;
    const { addon } = backend.runtime;
    const engines = signature.engines.find(({ runner }) => runner === below);
    if (engines !== undefined) requireOwnContext(engines, inputs);
    const arena = engines?.arena ?? (await this.arenaOf(signature));
    for (const input of inputs) backend.handle(input); // may throw before the buffer is filled
    passHandles(
      backend,
      inputs.map((input) => backend.handle(input)),
      signature.fetches.length,
    );
    const graph = await addon.captureGraph(arena.program, arenaOptions(backend, arena), inputs.length);
    const runner = new CapturedRunner(
      engines === undefined ? 'tensorflow' : 'tensorrt',
      graph,
      signature.fetches.length,
      () => void addon.releaseCapturedGraph(graph),
    );
    try {
      const reference = below ?? this.source.base(signature.feeds, signature.fetches);
      await this.requireEqual(runner, reference, inputs);
    } catch (error) {
      runner.dispose();
      throw error;
    }
    return runner;
  }

  /** Compares on the inputs and on others: what the recording baked in would show. */
  private async requireEqual(
    runner: Runner,
    reference: Runner,
    inputs: readonly TensorInfo[],
  ): Promise<void> {
    const { backend } = this;
    const others: TensorInfo[] = [];
    try {
      for (const { dataId, shape } of inputs) {
        const values = (await backend.read(dataId)) as Float32Array;
        const changed = values.map((value, i) => 0.5 * value + 0.25 * Math.sin(i));
        others.push({ dataId: backend.write(changed, shape, 'float32'), shape, dtype: 'float32' });
      }
      for (const set of [inputs, others, inputs]) {
        const difference = await runnersDiffer(backend, reference, runner, set);
        if (!(difference <= CAPTURE_TOLERANCE)) {
          throw new Error(`its outputs differ from TensorFlow's by ${difference} of their largest value`);
        }
      }
    } finally {
      for (const { dataId } of others) backend.disposeData(dataId);
    }
  }

  private arenaOf(signature: Signature): Promise<ArenaProgram> {
    signature.arena ??= this.makeArenaProgram(signature).catch((error) => {
      delete signature.arena; // another time there may be room
      throw error;
    });
    return signature.arena;
  }

  /** Gives the room of TensorFlow's own program on the arena back, once nothing is recorded from it. */
  private releaseIdleArena(signature: Signature): void {
    const used = signature.variants.some(
      ({ runner, capture }) => capture === 'pending' || (runner?.captured && runner.kind === 'tensorflow'),
    );
    if (used || signature.arena === undefined) return;
    this.releaseArena(signature.arena);
    delete signature.arena;
  }

  private releaseArena(arena: Promise<ArenaProgram>): void {
    void arena.then(
      ({ program }) => this.backend.runtime.addon.releaseProgram(program),
      () => undefined,
    );
  }

  private async makeArenaProgram({ feeds, fetches }: Signature): Promise<ArenaProgram> {
    const { addon } = this.backend.runtime;
    const graph = await this.source.graph(feeds, fetches);
    try {
      const described = addon.describeGraph(graph);
      return {
        program: await addon.createArenaProgram(graph, this.source.sessionConfig),
        feeds: described.feeds,
        fetches: described.fetches,
      };
    } finally {
      addon.releaseGraph(graph);
    }
  }
}

/**
 * TensorRT's execution context, of which an engine has one on the arena, remembers the shapes of its last run, and a
 * recording depends on it: so only one set of shapes of an engine is ever recorded.
 */
function requireOwnContext(engines: EngineTier, inputs: readonly TensorInfo[]): void {
  if (engines.arena === undefined)
    throw new Error('there is no room for the engines in the arena: raise graphArenaBytes');
  const shapes = JSON.stringify(inputs.map(({ shape }) => shape));
  engines.recordedShapes ??= shapes;
  if (engines.recordedShapes !== shapes) {
    throw new Error(`its engine is a CUDA graph for the shapes ${engines.recordedShapes} already`);
  }
}

/** Whether shapes lie between two corners. */
export function within(
  shapes: readonly (readonly number[])[],
  { min, max }: Pick<EngineTier, 'min' | 'max'>,
): boolean {
  return shapes.every(
    (shape, i) =>
      shape.length === min[i]!.length &&
      shape.every((size, axis) => size >= min[i]![axis]! && size <= max[i]![axis]!),
  );
}

/** tensorflow.CallableOptions in JSON for a program on the arena. */
function arenaOptions(backend: TftrtBackend, { feeds, fetches }: ArenaProgram): string {
  return callableOptions(
    backend.runtime.arenaName,
    feeds.map((name) => `${name}:0`),
    fetches,
  );
}

/** tensorflow.CallableOptions in JSON with all feeds and fetches on one device. */
export function callableOptions(
  device: string,
  feeds: readonly string[],
  fetches: readonly string[],
): string {
  const onDevice = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, device]));
  return JSON.stringify({
    feed: feeds,
    fetch: fetches,
    feedDevices: onDevice(feeds),
    fetchDevices: onDevice(fetches),
  });
}
