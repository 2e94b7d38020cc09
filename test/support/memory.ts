/** V8 takes more for its heap, or less, as it sees fit, so that is counted by what lives in it: `bytesOfObjects`. */
export function bytesOutsideHeap(): number {
  const { rss, heapTotal } = process.memoryUsage();
  return rss - heapTotal;
}

export function bytesOfObjects(): number {
  if (globalThis.gc === undefined) throw new Error('The tests need --expose-gc.');
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

/** By how many bytes figures taken in the course of a test grew for good: peaks come and go. */
export function growthOf(resident: readonly number[]): number {
  const first = Math.max(...resident.slice(0, resident.length / 4));
  const last = Math.min(...resident.slice(-resident.length / 10));
  return last - first;
}

/** For the message where they grew too much. */
export function inMiB(figures: readonly number[]): string {
  const step = Math.ceil(figures.length / 20);
  return figures
    .filter((_, i) => i % step === 0)
    .map((bytes) => (bytes / 2 ** 20).toFixed(1))
    .join(' ');
}
