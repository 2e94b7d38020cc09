import * as tf from '@tensorflow/tfjs';
import * as tftrt from 'tfjs-backend-tftrt';
import { loadFrozen } from './freeze';
import type { Images } from './images';
import { accuracyOf, classify, imageTensor, topClasses } from './training';

export type Precision = 'FP32' | 'FP16' | 'INT8';

type ConversionReport = Pick<
  tftrt.ConversionReport,
  'serving' | 'reason' | 'engines' | 'native' | 'latencyMs' | 'difference'
>;

/** How the predictions of an engine compare with TensorFlow's in FP32. */
export interface EngineResult {
  readonly precision: Precision;
  readonly accuracy: number;
  /** The share of images with the same top class. */
  readonly agreement: number;
  readonly maxAbsoluteDifference: number;
  readonly buildSeconds: number;
  readonly report: ConversionReport;
}

/** Predicts the images by an engine of this precision, with a model of its own. */
export async function runEngine(
  artifacts: tf.io.ModelArtifacts,
  precision: Precision,
  data: { test: Images; calibration: Images; batchSize: number; expected: Float32Array },
): Promise<EngineResult> {
  const { test, calibration, batchSize, expected } = data;
  const model = await loadFrozen(artifacts);
  const sample = imageTensor(test, 0, batchSize);
  const batches = precision === 'INT8' ? inBatches(calibration, batchSize) : [];
  try {
    const started = performance.now();
    const report = await tftrt.build(model, {
      precision,
      inputs: [sample],
      ...(batches.length > 0 ? { calibration: { inputs: batches } } : {}),
      cache: false,
      // Probabilities never differ by more: the engine must serve here even if its errors were too large for others, since
      // they are what is measured.
      tolerance: 1,
    });
    const buildSeconds = (performance.now() - started) / 1000;
    const probabilities = await classify(model, test, batchSize);
    return {
      precision,
      accuracy: accuracyOf(probabilities, test.labels),
      agreement: accuracyOf(probabilities, topClasses(expected)),
      maxAbsoluteDifference: maxDifference(probabilities, expected),
      buildSeconds,
      report: summary(report),
    };
  } finally {
    tf.dispose([sample, batches]);
    model.dispose();
  }
}

/** The largest difference of two lists of numbers, NaN if one has a NaN. */
export function maxDifference(a: Float32Array, b: Float32Array): number {
  return a.reduce((max, value, i) => Math.max(max, Math.abs(value - b[i]!)), 0);
}

/** Whole batches of the images: engines are built for one batch size. */
function inBatches(images: Images, batchSize: number): tf.Tensor[] {
  const count = Math.floor(images.count / batchSize);
  return Array.from({ length: count }, (_, batch) => imageTensor(images, batch * batchSize, batchSize));
}

/** Without the calibration table and what else is long. */
function summary(report: ConversionReport): ConversionReport {
  const { serving, reason, engines, native, latencyMs, difference } = report;
  return { serving, reason, engines, native, latencyMs, difference };
}
