/** What TensorBoard takes if nobody says otherwise. */
const DEFAULT_BUCKETS = 30;

/**
 * Counts values in buckets of equal width: [left edge, right edge, count] of each. No bucket where there are no values, and one
 * around a value that is the only one. NaN and the infinities, which no bucket can hold, are left out.
 */
export function countInBuckets(values: ArrayLike<number>, buckets = DEFAULT_BUCKETS): Float64Array {
  let [min, max, count] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0];
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (!Number.isFinite(value)) continue;
    if (value < min) min = value;
    if (value > max) max = value;
    count++;
  }
  if (count === 0) return new Float64Array(0);
  if (min === max) return Float64Array.of(min - 0.5, min + 0.5, count);

  const width = (max - min) / buckets;
  const rows = new Float64Array(3 * buckets);
  for (let bucket = 0; bucket < buckets; bucket++) {
    rows[3 * bucket] = min + bucket * width;
    rows[3 * bucket + 1] = bucket === buckets - 1 ? max : min + (bucket + 1) * width;
  }
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (!Number.isFinite(value)) continue;
    const bucket = Math.min(Math.floor((value - min) / width), buckets - 1);
    rows[3 * bucket + 2]! += 1;
  }
  return rows;
}
