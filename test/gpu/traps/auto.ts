// A process in which engines are built for calls that recur.

import * as tf from '@tensorflow/tfjs';
import { configure, stats } from 'tfjs-backend-tftrt';
import { convolutions, disorder, tensorOf } from '../graphs';
import { predict, relativeError } from '../outcome';

configure({ allowBuildAtRuntime: true, precision: 'FP16' });

export interface AutoResult {
  readonly builds: { running: number; done: number; failed: number };
  /** Predictions before the engine served, and after. */
  readonly predictions: number;
  readonly byEngine: number;
  readonly worstError: number;
  readonly slowestMs: number;
}

const MOST_MS = 180_000;

/** Predicts, one shape only, until what is built serves. */
export async function recurring(): Promise<AutoResult> {
  const model = await convolutions();
  const x = tensorOf(disorder([1, 24, 24, 8], 99));
  const { values: expected } = await predict(model, x.clone());
  let predictions = 0;
  let slowestMs = 0;
  let worstError = 0;
  const call = async () => {
    const begun = performance.now();
    const y = model.predict(x) as tf.Tensor;
    slowestMs = Math.max(slowestMs, performance.now() - begun);
    worstError = Math.max(worstError, relativeError(await y.data(), expected));
    y.dispose();
    predictions++;
    await new Promise((resolve) => setTimeout(resolve, 2));
  };
  const begun = performance.now();
  while (stats().builds.done + stats().builds.failed === 0 && performance.now() - begun < MOST_MS)
    await call();
  const before = stats().tiers.tensorrt;
  for (let i = 0; i < 100; i++) await call();
  const { builds, tiers } = stats();
  model.dispose();
  return { builds: { ...builds }, predictions, byEngine: tiers.tensorrt - before, worstError, slowestMs };
}

/** Leaves a build under way: the process must end all the same. */
export async function unfinished(): Promise<{ running: number }> {
  const model = await convolutions();
  const x = tensorOf(disorder([1, 24, 24, 8], 99));
  const begun = performance.now();
  while (stats().builds.running === 0 && performance.now() - begun < MOST_MS)
    (await predict(model, x.clone())).values;
  // Until the builder is started.
  await new Promise((resolve) => setTimeout(resolve, 1000));
  return { running: stats().builds.running };
}

/** Disposes of the model in the middle of its build. */
export async function disposed(): Promise<{
  builds: AutoResult['builds'];
  programs: number;
  tensors: number;
}> {
  const model = await convolutions();
  const x = tensorOf(disorder([1, 24, 24, 8], 99));
  while (stats().builds.running === 0) await predict(model, x.clone());
  model.dispose();
  x.dispose();
  const begun = performance.now();
  while (stats().builds.running > 0 && performance.now() - begun < MOST_MS) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { builds, programs, tensors } = stats();
  return { builds: { ...builds }, programs, tensors: tensors + tf.memory().numTensors };
}
