import type * as tf from '@tensorflow/tfjs';
import { TftrtError } from 'tfjs-backend-tftrt';
import { type BuildOptions, build, type ConversionReport, type Model } from './api';

/** What came of a build: a report, or a refusal with this package's error. Anything else that it throws is a failure. */
export type Outcome =
  | { report: ConversionReport; refused?: undefined }
  | { report?: undefined; refused: string };

export async function buildOrRefuse(model: Model, options: BuildOptions): Promise<Outcome> {
  try {
    return { report: await build(model, options) };
  } catch (error) {
    if (error instanceof TftrtError && error.message.length > 0) return { refused: error.code };
    throw error;
  }
}

/** The values of one output; disposes of it. */
export async function valuesOf(result: unknown): Promise<number[]> {
  const tensor = result as tf.Tensor;
  const values = Array.from(await tensor.data());
  tensor.dispose();
  return values;
}

/** What the model gives for an input that is made for this call: shape and values of the only output. */
export async function predict(
  model: Model,
  input: tf.Tensor,
): Promise<{ shape: number[]; values: number[] }> {
  const output = model.predict(input) as tf.Tensor;
  const { shape } = output;
  input.dispose();
  return { shape, values: await valuesOf(output) };
}

/** The largest difference, in parts of the largest expected magnitude; infinite where NaN or a length differs. */
export function relativeError(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) return Infinity;
  let worst = 0;
  let scale = 0;
  for (let i = 0; i < expected.length; i++) {
    const [a, e] = [actual[i]!, expected[i]!];
    if (Number.isNaN(a) && Number.isNaN(e)) continue;
    const difference = a === e ? 0 : Math.abs(a - e);
    if (!Number.isFinite(difference)) return Infinity;
    worst = Math.max(worst, difference);
    scale = Math.max(scale, Math.abs(e));
  }
  return worst / (scale || 1);
}
