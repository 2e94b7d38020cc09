import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import type { Turn } from './types';

/** How long a turn measures, after the part of it that is thrown away. */
const TURN_MS = 250;
/** Measured before and thrown away: the caches are full of what the other side did. */
const SETTLE_MS = 50;
/** A turn of a slow thing lasts until it has this many samples. */
const MINIMUM_SAMPLES = 3;
/** Finalizers and timers of the libraries run at least this often, as they would in a server. */
const YIELD_MS = 10;

/** Milliseconds of one call. */
export function milliseconds(run: () => void): () => number {
  return () => {
    const start = performance.now();
    run();
    return performance.now() - start;
  };
}

/** Microseconds of one call. */
export function microseconds(run: () => void): () => number {
  return () => {
    const start = performance.now();
    run();
    return (performance.now() - start) * 1000;
  };
}

/** A turn: calls `sample`, which times itself, again and again and keeps what it returns. */
export async function sampleForATurn(sample: () => number): Promise<Turn> {
  const samples: number[] = [];
  await repeat(sample, SETTLE_MS, 1);
  await repeat(() => samples.push(sample()), TURN_MS, MINIMUM_SAMPLES);
  return { samples };
}

/** Calls `run` for a while and at least `minimum` times, returning to the event loop now and then. */
export async function repeat(run: () => unknown, forMs: number, minimum: number): Promise<void> {
  const start = performance.now();
  let lastYield = start;
  for (let count = 1; ; count++) {
    const result = run();
    if (result instanceof Promise) await result;
    const now = performance.now();
    if (now - start >= forMs && count >= minimum) return;
    if (now - lastYield >= YIELD_MS) {
      await eventLoopTurn();
      lastYield = performance.now();
    }
  }
}
