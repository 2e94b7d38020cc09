import type { Summary } from './types';

/** The nearest-rank quantile of values sorted in ascending order. */
export function quantile(sorted: readonly number[], q: number): number {
  if (sorted.length === 0) throw new RangeError('quantile: there are no values');
  const rank = Math.ceil(q * sorted.length);
  return sorted[Math.min(Math.max(rank, 1), sorted.length) - 1]!;
}

/** The median; the mean of the middle two of an even number of values. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('median: there are no values');
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Minimum, median and the upper percentiles of samples in any order. */
export function summarize(samples: readonly number[]): Summary {
  const sorted = Float64Array.from(samples).sort() as unknown as readonly number[];
  return {
    count: samples.length,
    min: quantile(sorted, 0),
    median: median(samples),
    p90: quantile(sorted, 0.9),
    p95: quantile(sorted, 0.95),
    p99: quantile(sorted, 0.99),
  };
}

/** The medians of each figure over several turns. */
export function medianFigures(
  turns: readonly (Record<string, number> | undefined)[],
): Record<string, number> {
  const names = new Set(turns.flatMap((figures) => Object.keys(figures ?? {})));
  return Object.fromEntries(
    [...names].map((name) => [name, median(turns.flatMap((figures) => figures?.[name] ?? []))]),
  );
}

/** The largest difference between two outputs, over the range of the second; Infinity if they do not match at all. */
export function relativeDifference(a: readonly number[], b: readonly number[]): number {
  if (a.length !== b.length || a.length === 0) return Number.POSITIVE_INFINITY;
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  let difference = 0;
  for (let i = 0; i < a.length; i++) {
    low = Math.min(low, b[i]!);
    high = Math.max(high, b[i]!);
    const d = Math.abs(a[i]! - b[i]!);
    if (!(d <= difference)) difference = Number.isNaN(d) ? Number.POSITIVE_INFINITY : d;
  }
  const range = high - low || Math.abs(high) || 1;
  return difference / range;
}
