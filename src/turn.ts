import { performance } from 'node:perf_hooks';
import timers from 'node:timers';
import { setImmediate } from 'node:timers/promises';

/** Bound now: tests put clocks that stand still in the place of timers, or take them away. */
const immediate = setImmediate;
/** Has a function called in the next turn of the event loop. */
export const inNextTurn: (call: () => void) => void = timers.setImmediate;
const now = performance.now.bind(performance);

/** For how long a chain of promises may keep timers and input waiting. */
const PATIENCE_MS = 1;
let lastTurn = 0;

/** Lets timers and input through. */
export async function nextTurn(): Promise<void> {
  await immediate();
  lastTurn = now();
}

/** Whether they have waited for so long that it is time for the next turn. */
export function isTurnDue(): boolean {
  return now() - lastTurn >= PATIENCE_MS;
}
