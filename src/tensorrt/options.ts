import type { NamedTensorMap, Tensor } from '@tensorflow/tfjs-core';
import type { Configuration } from '../config';
import { TftrtError } from '../errors';
import type { NativeRuntime } from '../native';
import { requireOptions } from '../options';

/** How an engine computes: strictly in float32, with operands rounded to TF32, in float16, or in int8 after calibration. */
export type Precision = 'FP32' | 'TF32' | 'FP16' | 'INT8';

export type ModelInputs = Tensor | Tensor[] | NamedTensorMap;

/** Shapes between which an engine serves; `opt` is what it is tuned for. */
export interface ShapeRange {
  min?: number[];
  opt?: number[];
  max?: number[];
}

/** The ranges of all inputs by name; or of the only one. */
export type Profile = ShapeRange | Record<string, ShapeRange>;

export interface BuildOptions {
  /** Default: the precision that `configure` set, FP32 without it. */
  precision?: Precision;
  /**
   * Sample inputs, each as for `predict`. They say for which shapes engines are built where there are no profiles (one engine
   * for each different set of shapes), and the engines' outputs are compared with TensorFlow's on them. Without them,
   * random values of the shapes that the model declares, an open batch being 1.
   */
  inputs?: ModelInputs[];
  /** One engine for each. */
  profiles?: Profile[];
  /** INT8: sample inputs, all of the shapes of the first, or the table that an earlier report has. */
  calibration?: { inputs: ModelInputs[] } | { table: string };
  /** Names of the outputs, as for `execute`. Default: those of `predict`. */
  outputs?: string[];
  /**
   * Memory that one layer may use for its scratch. Default: as much as there is; never more than TensorFlow's allocator may take,
   * where `configure` limits that.
   */
  maxWorkspaceSizeBytes?: number;
  /** Nodes that a part of the graph must have to become an engine, at least 3 (fewer have ended the process). Default 3. */
  minimumSegmentSize?: number;
  /**
   * For how many sets of shapes, or ranges, the model may have engines for the same outputs before no more are built at run time, and TensorFlow
   * serves the others: a bound of `allowBuildAtRuntime`. What `build` itself is asked for, it builds. Default: what `configure`
   * set, any number without it.
   */
  maximumCachedEngines?: number;
  /**
   * Whether, from this build on, engines are built in the background for other shapes with which this model is run many times,
   * with this build's options; false: for none. Default: what `configure` set. Not for INT8 with calibration.
   */
  allowBuildAtRuntime?: boolean;
  /**
   * INT8: whether to calibrate; false for graphs that have quantisation nodes of their own. Default: what `configure` set, true
   * without it.
   */
  useCalibration?: boolean;
  /** Whether engines are kept on the disk, and taken from there. Default true. */
  cache?: boolean;
  /**
   * The largest difference from TensorFlow's outputs with which an engine may serve, as a share of their largest absolute
   * value. Default: 0.001 for FP32, 0.1 for TF32 and FP16, 0.3 for INT8.
   */
  tolerance?: number;
  /** Serve from the engines if they are right, even where TensorFlow was faster. Default false. */
  force?: boolean;
  /** Told of each step. */
  onProgress?: (event: BuildProgress) => void;
}

export interface BuildProgress {
  readonly stage:
    | 'preparing'
    | 'loading'
    | 'segmenting'
    | 'profiling'
    | 'calibrating'
    | 'building'
    | 'writing'
    | 'verifying'
    | 'capturing'
    | 'done';
  readonly message: string;
  /** Since the build began. */
  readonly elapsedMs: number;
}

/** The options with their defaults. */
export interface ResolvedOptions {
  readonly precision: Precision;
  readonly maxWorkspaceSizeBytes: number;
  readonly minimumSegmentSize: number;
  readonly useCalibration: boolean;
  readonly cache: boolean;
  readonly tolerance: number;
  readonly force: boolean;
}

export const PRECISIONS: readonly Precision[] = ['FP32', 'TF32', 'FP16', 'INT8'];
const TOLERANCES: Readonly<Record<Precision, number>> = { FP32: 1e-3, TF32: 0.1, FP16: 0.1, INT8: 0.3 };
const KNOWN: ReadonlySet<string> = new Set<keyof BuildOptions>([
  'precision',
  'inputs',
  'profiles',
  'calibration',
  'outputs',
  'maxWorkspaceSizeBytes',
  'minimumSegmentSize',
  'maximumCachedEngines',
  'allowBuildAtRuntime',
  'useCalibration',
  'cache',
  'tolerance',
  'force',
  'onProgress',
]);

/** What lists are of, for those who leave the list out. */
const LISTS = {
  inputs: 'an array of sample inputs, each as for predict: inputs: [input]',
  profiles: 'an array of { min, opt, max }',
  outputs: 'an array of names',
} as const;

/** Whether TensorRT learns the ranges of values from samples, or from what it learnt of them before. */
export function isCalibrated({
  precision,
  useCalibration,
}: Pick<ResolvedOptions, 'precision' | 'useCalibration'>): boolean {
  return precision === 'INT8' && useCalibration;
}

/**
 * What of the options engines depend on, for their name in the cache: with other names, or in another order, the engines that
 * are there would not be found.
 */
export function decisiveOptions(options: ResolvedOptions): Readonly<Record<string, unknown>> {
  const { precision, maxWorkspaceSizeBytes, minimumSegmentSize, useCalibration } = options;
  // A segment has one engine, however many sets of shapes the model has engines for.
  return { precision, maxWorkspaceSizeBytes, minimumSegmentSize, maximumCachedEngines: 1, useCalibration };
}

/** Throws `TFTRT_INVALID_ARGUMENT` for an option that is unknown or has a wrong value. */
export function resolveOptions(options: BuildOptions, configuration: Configuration): ResolvedOptions {
  requireOptions('build', options, KNOWN);
  for (const name of ['allowBuildAtRuntime', 'useCalibration', 'cache', 'force'] as const) {
    const value = options[name];
    if (value != null && typeof value !== 'boolean') throw invalid(`${name} is ${value}`, 'true or false');
  }
  for (const name of ['inputs', 'profiles', 'outputs'] as const) {
    const value = options[name];
    if (value != null && !Array.isArray(value)) throw invalid(`${name} is no list`, LISTS[name]);
  }
  if (options.onProgress != null && typeof options.onProgress !== 'function') {
    throw invalid(`onProgress is ${options.onProgress}`, 'a function');
  }
  const precision = options.precision ?? configuration.precision ?? 'FP32';
  if (!PRECISIONS.includes(precision)) throw invalid(`precision is '${precision}'`, PRECISIONS.join(', '));
  const resolved: ResolvedOptions = {
    precision,
    maxWorkspaceSizeBytes: options.maxWorkspaceSizeBytes ?? configuration.maxWorkspaceSizeBytes ?? 0,
    minimumSegmentSize: options.minimumSegmentSize ?? configuration.minimumSegmentSize ?? 3,
    useCalibration: options.useCalibration ?? configuration.useCalibration ?? true,
    cache: options.cache ?? true,
    tolerance: options.tolerance ?? TOLERANCES[precision],
    force: options.force ?? false,
  };
  requireInteger('maxWorkspaceSizeBytes', resolved.maxWorkspaceSizeBytes, 0);
  requireInteger('minimumSegmentSize', resolved.minimumSegmentSize, 3);
  requireInteger('maximumCachedEngines', options.maximumCachedEngines ?? 1, 1);
  if (!(typeof resolved.tolerance === 'number' && resolved.tolerance >= 0))
    throw invalid(`tolerance is ${resolved.tolerance}`, 'a number, 0 or above');
  if (isCalibrated(resolved) && options.calibration === undefined) {
    throw invalid(
      'INT8 needs `calibration`',
      '{ inputs: [sample inputs…] }, { table } from an earlier report, or useCalibration: false for a graph with quantisation nodes',
    );
  }
  if (isCalibrated(resolved) && options.allowBuildAtRuntime) {
    throw invalid(
      'allowBuildAtRuntime is true for INT8, which is calibrated with samples of each shape',
      'another precision, or false and a build for all shapes that are needed',
    );
  }
  if (options.calibration !== undefined) requireCalibration(options.calibration);
  if (options.profiles?.length === 0) throw invalid('profiles is empty', 'at least one profile');
  if (options.inputs?.length === 0) throw invalid('inputs is empty', 'at least one set of inputs');
  return resolved;
}

function requireCalibration(calibration: unknown): void {
  const { inputs, table } = (calibration ?? {}) as { inputs?: unknown; table?: unknown };
  if (Array.isArray(inputs) ? inputs.length > 0 : inputs === undefined && typeof table === 'string') return;
  throw invalid(
    'calibration is none',
    '{ inputs: [one or more sets of sample inputs, each as for predict] }, or { table } from an earlier report',
  );
}

function requireInteger(name: string, value: number, least: number): void {
  if (!Number.isInteger(value) || value < least) {
    throw invalid(`${name} is ${value}`, `a whole number, ${least} or above`);
  }
}

export function invalid(what: string, expected: string): TftrtError {
  return new TftrtError('TFTRT_INVALID_ARGUMENT', `build: ${what}; expected ${expected}.`);
}

/** The device for a process that builds: the same GPU. */
export function deviceOption({ device }: NativeRuntime): string {
  return device;
}
