// One process that builds with the engine cache, for tests of what the next process makes of it.

import { build, type ConversionReport } from '../api';
import { denseModel, disorder, tensorOf } from '../graphs';
import { predict } from '../outcome';

export interface CachedResult {
  readonly serving: ConversionReport['serving'];
  readonly reason?: string;
  readonly fromCache: boolean[];
  readonly right: boolean;
}

/** Builds the model of these weights for 4 rows. */
async function buildCached(seed: number, precision: 'FP32' | 'FP16' = 'FP32'): Promise<CachedResult> {
  const { model, expected } = await denseModel({ seed });
  const x = disorder([4, 8], 5);
  const report: ConversionReport = await build(model, { precision, inputs: [tensorOf(x)], cache: true });
  const { values } = await predict(model, tensorOf(x));
  const wanted = expected(x.values);
  model.dispose();
  return {
    serving: report.serving,
    reason: report.reason,
    fromCache: report.engines.map(({ fromCache }) => fromCache),
    right: values.length === wanted.length && values.every((value, i) => value === wanted[i]),
  };
}

export const first = () => buildCached(1);
export const otherWeights = () => buildCached(20);
export const otherPrecision = () => buildCached(1, 'FP16');
