import { setImmediate } from 'node:timers/promises';

/** Bound now: tests put clocks that stand still in the place of timers, or take them away. */
const immediate = setImmediate;

/** Lets timers and input through. */
export function nextTurn(): Promise<void> {
  return immediate();
}
