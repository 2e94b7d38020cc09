import type { BuildMemory } from './build_memory';
import type { Precision } from './options';

/** One TensorRT engine: a segment of the graph. */
export interface EngineReport {
  readonly name: string;
  readonly precision: Precision;
  /** TensorFlow ops in it, and how many of each. */
  readonly nodes: number;
  readonly ops: Readonly<Record<string, number>>;
  readonly sizeBytes: number;
  /** What building it took, also when that was in an earlier process. */
  readonly buildMs: number;
  readonly fromCache: boolean;
}

/** Ops that stayed in TensorFlow. */
export interface NativeReport {
  readonly op: string;
  readonly count: number;
  readonly reason: string;
}

/** What became of one profile, or set of sample shapes. */
export interface ProfileReport {
  /** Shape of each input, or the corners of the range: [min, opt, max]. */
  readonly shapes: readonly (readonly number[][])[];
  readonly engines: readonly EngineReport[];
  readonly native: readonly NativeReport[];
  /** Which tier serves these shapes from now on, and why. */
  readonly serving: 'tensorrt' | 'tensorflow';
  readonly reason: string;
  /** Median of a run on the device, without copies to or from the host. */
  readonly latencyMs?: { readonly tensorflow: number; readonly tensorrt: number };
  /** The largest difference from TensorFlow's outputs, as a share of their largest absolute value. */
  readonly difference?: number;
  readonly tolerance: number;
  /** Whether it is replayed as a CUDA graph; if not, why. */
  readonly captured: boolean;
  readonly captureReason?: string;
  /** What building the engines took of the GPU's memory, also when that was in an earlier process. */
  readonly buildMemory?: BuildMemory;
}

/** What `build` did. `toString` gives it as text. */
export class ConversionReport {
  constructor(
    readonly model: string,
    readonly precision: Precision,
    readonly profiles: readonly ProfileReport[],
    readonly totalMs: number,
    /** INT8: for `calibration: { table }` of a later build of the same model. */
    readonly calibrationTable?: string,
  ) {}

  get serving(): 'tensorrt' | 'tensorflow' {
    return this.profiles.every(({ serving }) => serving === 'tensorrt') ? 'tensorrt' : 'tensorflow';
  }

  get reason(): string {
    return [...new Set(this.profiles.map(({ reason }) => reason))].join('; ');
  }

  get engines(): readonly EngineReport[] {
    return this.profiles.flatMap(({ engines }) => engines);
  }

  get native(): readonly NativeReport[] {
    return this.profiles[0]?.native ?? [];
  }

  /** Of the first profile. */
  get latencyMs(): ProfileReport['latencyMs'] {
    return this.profiles[0]?.latencyMs;
  }

  /** The largest of the profiles' differences. */
  get difference(): number | undefined {
    const known = this.profiles.flatMap(({ difference }) => difference ?? []);
    return known.length > 0 ? Math.max(...known) : undefined;
  }

  get captureReason(): string | undefined {
    return this.profiles.find(({ captured }) => !captured)?.captureReason;
  }

  get captured(): boolean {
    return this.profiles.every(({ captured }) => captured);
  }

  /** All that the report says, for JSON. */
  toJSON(): object {
    const { model, precision, serving, reason, engines, native, profiles, totalMs, calibrationTable } = this;
    const { latencyMs, difference, captured, captureReason } = this;
    return {
      model,
      precision,
      serving,
      reason,
      engines,
      native,
      latencyMs,
      difference,
      captured,
      captureReason,
      profiles,
      totalMs,
      calibrationTable,
    };
  }

  toString(): string {
    const lines = [`${this.model}, ${this.precision}, ${seconds(this.totalMs)}`];
    for (const profile of this.profiles) lines.push('', ...describe(profile));
    return lines.join('\n');
  }
}

function describe(profile: ProfileReport): string[] {
  const { engines, native, latencyMs, difference, buildMemory } = profile;
  const shapes = profile.shapes.map((corners) => corners.map((shape) => `[${shape}]`).join('…')).join(', ');
  const lines = [
    `inputs ${shapes}: served by ${profile.serving === 'tensorrt' ? 'TensorRT' : 'TensorFlow'} (${profile.reason})`,
  ];
  for (const engine of engines) {
    lines.push(
      `  ${engine.name}: ${engine.nodes} nodes, ${engine.precision}, ${mebibytes(engine.sizeBytes)}, ` +
        `${engine.fromCache ? 'from the cache; built in' : 'built in'} ${seconds(engine.buildMs)}`,
      `    ${Object.entries(engine.ops)
        .sort(([, a], [, b]) => b - a)
        .map(([op, count]) => `${count} ${op}`)
        .join(', ')}`,
    );
  }
  if (buildMemory !== undefined) {
    lines.push(
      `  building took ${mebibytes(buildMemory.peakBytes)} of the GPU's memory (${mebibytes(buildMemory.limitBytes)} allowed)`,
    );
  }
  for (const { op, count, reason } of native) lines.push(`  in TensorFlow: ${count} ${op} (${reason})`);
  if (latencyMs !== undefined) {
    lines.push(
      `  TensorFlow ${latencyMs.tensorflow.toFixed(3)} ms, TensorRT ${latencyMs.tensorrt.toFixed(3)} ms` +
        (difference === undefined
          ? ''
          : `; largest difference ${difference.toExponential(1)} (${profile.tolerance} allowed)`),
    );
  }
  lines.push(
    `  ${profile.captured ? 'replayed as a CUDA graph' : `not a CUDA graph: ${profile.captureReason ?? 'unknown'}`}`,
  );
  return lines;
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
