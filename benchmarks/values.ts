/** Seeded pseudo-random floats in [0, 1): the same values on both sides. */
export function seededFloats(count: number, seed = 1): Float32Array {
  const values = new Float32Array(count);
  let state = seed >>> 0;
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    values[i] = state / 2 ** 32;
  }
  return values;
}

/** At most `limit` of the values, evenly spread: enough to compare outputs by. */
export function spread(values: ArrayLike<number>, limit = 1000): number[] {
  const step = Math.max(1, Math.floor(values.length / limit));
  const picked: number[] = [];
  for (let i = 0; i < values.length && picked.length < limit; i += step) picked.push(Number(values[i]));
  return picked;
}
