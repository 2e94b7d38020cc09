import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type * as tf from '@tensorflow/tfjs';
import * as tftrt from 'tfjs-backend-tftrt';
import type { EnginePrecision } from './contestants';
import type { LoadedModel } from './subject';

type ConversionReport = Pick<
  tftrt.ConversionReport,
  | 'serving'
  | 'reason'
  | 'engines'
  | 'latencyMs'
  | 'difference'
  | 'captured'
  | 'captureReason'
  | 'calibrationTable'
>;

/** What is kept of building, or loading, an engine. */
export type EngineFacts = Omit<ConversionReport, 'calibrationTable'> & {
  /** All of the call of `build`, with its verification. */
  readonly buildCallMs: number;
  /** When each stage of it began, in ms from its start. */
  readonly stages: Readonly<Record<string, number>>;
};

/**
 * Engines serve whatever they differ by, and the report says it: random weights amplify rounding as trained ones do not. What
 * precision costs a trained network is measured in ../accuracy.
 */
export const ENGINE_TOLERANCE = 1;

/**
 * Builds an engine for the shape of `input`, or loads it from the cache. INT8 calibrates on the images given one by one;
 * the ranges serve every batch size, so the table goes to a file with which the other sizes are built.
 */
export async function buildEngine(
  model: LoadedModel,
  precision: EnginePrecision,
  input: tf.Tensor,
  calibrationImages: tf.Tensor[],
  tableFile: string,
  onProgress?: (message: string) => void,
): Promise<EngineFacts> {
  const single = input.shape[0] === 1;
  const hasTable = !single && existsSync(tableFile);
  const calibration = hasTable
    ? { table: readFileSync(tableFile, 'utf8') }
    : { inputs: single ? calibrationImages : [input] };
  const stages: Record<string, number> = {};
  const start = performance.now();
  const report = await tftrt.build(model as tf.GraphModel, {
    precision,
    inputs: [input],
    tolerance: ENGINE_TOLERANCE,
    ...(precision === 'INT8' ? { calibration } : {}),
    onProgress: ({ stage, message, elapsedMs }) => {
      stages[stage] ??= Math.round(elapsedMs);
      onProgress?.(`${stage}: ${message}`);
    },
  });
  const buildCallMs = performance.now() - start;
  if (report.calibrationTable && !hasTable) {
    mkdirSync(dirname(tableFile), { recursive: true });
    writeFileSync(tableFile, report.calibrationTable);
  }
  const { serving, reason, engines, latencyMs, difference, captured, captureReason } = report;
  return { serving, reason, engines, latencyMs, difference, captured, captureReason, buildCallMs, stages };
}
