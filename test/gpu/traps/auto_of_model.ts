// A process in which a build of one model allows others for its calls that recur; `configure` does not.

import type * as tf from '@tensorflow/tfjs';
import { build, stats } from 'tfjs-backend-tftrt';
import { denseModel, disorder, tensorOf } from '../graphs';
import { predict, relativeError } from '../outcome';

export interface OfModel {
  /** Builds that came by themselves, after many calls with a second set of shapes, a third one, and of another model. */
  readonly builds: Array<{ running: number; done: number; failed: number }>;
  /** Of a few more calls with each of the three sets of shapes, those that engines served. */
  readonly byEngine: number[];
  readonly worstError: number;
}

const MOST_MS = 180_000;
const CALLS = 150;
const ROWS = [4, 8, 16];

export async function ofModel(): Promise<OfModel> {
  const { model, expected } = await denseModel();
  let worstError = 0;
  const call = async (rows: number, of: tf.GraphModel = model) => {
    const x = disorder([rows, 8], rows);
    const { values } = await predict(of, tensorOf(x));
    if (of === model) worstError = Math.max(worstError, relativeError(values, expected(x.values)));
  };
  const rest = async () => {
    const begun = performance.now();
    while (stats().builds.running > 0 && performance.now() - begun < MOST_MS) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const x = tensorOf(disorder([ROWS[0]!, 8], 1));
  await build(model, {
    inputs: [x],
    allowBuildAtRuntime: true,
    maximumCachedEngines: 2,
    cache: false,
    force: true,
  });
  x.dispose();
  const builds: OfModel['builds'] = [];
  for (const rows of ROWS.slice(1)) {
    for (let i = 0; i < CALLS; i++) await call(rows);
    await rest();
    builds.push({ ...stats().builds });
  }
  const { model: other } = await denseModel({ seed: 30 });
  for (let i = 0; i < CALLS; i++) await call(4, other);
  await rest();
  builds.push({ ...stats().builds });
  const byEngine: number[] = [];
  for (const rows of ROWS) {
    const before = stats().tiers.tensorrt;
    for (let i = 0; i < 10; i++) await call(rows);
    byEngine.push(stats().tiers.tensorrt - before);
  }
  model.dispose();
  other.dispose();
  return { builds, byEngine, worstError };
}
