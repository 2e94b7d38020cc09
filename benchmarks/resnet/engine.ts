import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Tensor } from '@tensorflow/tfjs';
import * as tftrt from 'tfjs-backend-tftrt';
import type { EnginePrecision } from './contestants';
import type { LoadedModel } from './subject';

/** The part of `build` that the benchmark uses. */
interface BuildOptions {
  readonly precision: EnginePrecision;
  readonly inputs: Tensor[];
  readonly calibration?: { inputs: Tensor[] } | { table: string };
  readonly tolerance: number;
  readonly onProgress?: (event: { stage: string; message: string }) => void;
}

/** The part of its report. */
interface ConversionReport {
  readonly serving: 'tensorrt' | 'tensorflow';
  readonly reason?: string;
  readonly engines: readonly {
    readonly name: string;
    readonly nodes: number;
    readonly sizeBytes: number;
    readonly buildMs: number;
    readonly fromCache: boolean;
  }[];
  readonly latencyMs?: { readonly tensorflow: number; readonly tensorrt: number };
  readonly maxAbsoluteDifference?: number;
  readonly captured?: boolean;
  readonly captureReason?: string;
  readonly calibrationTable?: string;
}

type Build = (model: LoadedModel, options: BuildOptions) => Promise<ConversionReport>;

/** What is kept of building, or loading, an engine. */
export type EngineFacts = Omit<ConversionReport, 'calibrationTable'> & {
  /** All of the call of `build`, with its verification. */
  readonly buildCallMs: number;
};

/** A probability may be off by this much; the report says by how much it is. */
const TOLERANCE: Record<EnginePrecision, number> = { FP16: 0.1, INT8: 0.5 };

/** Whether this version of the project builds engines. */
export function canBuild(): boolean {
  return buildFunction() !== undefined;
}

/**
 * Builds an engine for the shape of `input`, or loads it from the cache. INT8 calibrates on the images given one by one;
 * the ranges serve every batch size, so the table goes to a file with which the other sizes are built.
 */
export async function buildEngine(
  model: LoadedModel,
  precision: EnginePrecision,
  input: Tensor,
  calibrationImages: Tensor[],
  tableFile: string,
  onProgress?: (message: string) => void,
): Promise<EngineFacts> {
  const single = input.shape[0] === 1;
  const hasTable = !single && existsSync(tableFile);
  const calibration = hasTable
    ? { table: readFileSync(tableFile, 'utf8') }
    : { inputs: single ? calibrationImages : [input] };
  const start = performance.now();
  const { calibrationTable, ...report } = await buildFunction()!(model, {
    precision,
    inputs: [input],
    tolerance: TOLERANCE[precision],
    ...(precision === 'INT8' ? { calibration } : {}),
    onProgress: ({ stage, message }) => onProgress?.(`${stage}: ${message}`),
  });
  const buildCallMs = performance.now() - start;
  if (calibrationTable && !hasTable) {
    mkdirSync(dirname(tableFile), { recursive: true });
    writeFileSync(tableFile, calibrationTable);
  }
  return { ...report, buildCallMs };
}

function buildFunction(): Build | undefined {
  return (tftrt as unknown as { build?: Build }).build;
}
