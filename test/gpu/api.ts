import type { GraphModel, Tensor } from '@tensorflow/tfjs';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';

export type Shape = readonly number[];
export type ModelInputs = Tensor | Tensor[] | Record<string, Tensor>;

/** A range of input shapes: of the only input, or by input. */
export interface ShapeRange {
  readonly min?: Shape;
  readonly opt: Shape;
  readonly max?: Shape;
}

/** What `tftrt.build` takes, as far as these tests use it. */
export interface BuildOptions {
  readonly precision?: 'FP32' | 'TF32' | 'FP16' | 'INT8';
  readonly inputs?: ModelInputs[];
  readonly profiles?: ReadonlyArray<ShapeRange | Record<string, ShapeRange>>;
  readonly calibration?: { inputs: ModelInputs[] } | { table: string };
  readonly outputs?: string[];
  readonly maxWorkspaceSizeBytes?: number;
  readonly minimumSegmentSize?: number;
  readonly cache?: boolean;
  readonly tolerance?: number;
  readonly onProgress?: (event: { stage: string; message: string }) => void;
}

/** What it reports, as far as these tests use it. */
export interface ConversionReport {
  readonly precision: string;
  readonly serving: 'tensorrt' | 'tensorflow';
  readonly reason?: string;
  readonly engines: ReadonlyArray<{
    name: string;
    nodes: number;
    precision: string;
    sizeBytes: number;
    buildMs: number;
    fromCache: boolean;
  }>;
  readonly native: ReadonlyArray<{ op: string; count: number; reason: string }>;
  readonly maxAbsoluteDifference?: number;
  readonly calibrationTable?: string;
}

/** `tftrt.build`. */
export function build(model: GraphModel, options: BuildOptions): Promise<ConversionReport> {
  return (tftrt as unknown as { build: typeof build }).build(model, options);
}

/** Checks that engines were built, and serve unless they are slower than TensorFlow. */
export function expectEngine(report: {
  serving: ConversionReport['serving'];
  reason?: string;
  engines: readonly unknown[];
}): void {
  expect(report.engines, report.reason).to.have.length.above(0);
  if (report.serving === 'tensorflow') expect(report.reason).to.match(/slower|faster/i);
}

/**
 * How often predictions took TensorFlow because their shape is outside of the profiles: the sum of the counters of `stats()`
 * whose name says so.
 */
export function outsideProfiles(): number {
  const count = (value: unknown, name = ''): number => {
    if (typeof value === 'number') return /outside/i.test(name) ? value : 0;
    if (typeof value !== 'object' || value === null) return 0;
    return Object.entries(value).reduce(
      (sum, [key, part]) => sum + count(part, /outside/i.test(name) ? name : key),
      0,
    );
  };
  return count(tftrt.stats());
}
