import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { median } from './statistics';
import { figureAtMost, medianAtMost } from './targets';
import type { Side, Turn } from './types';

/** What both soaks ask for: resident memory that stays, and nothing left over. */
export const SOAK_TARGETS = [
  medianAtMost(3, 'MB'),
  figureAtMost('tf tensors left over', 0),
  figureAtMost('tf bytes left over', 0),
  figureAtMost('native tensors left over', 0),
];

interface Soak {
  /** The work; `i` counts the calls. Disposes of what it makes. */
  readonly run: (i: number) => void | Promise<void>;
  /** Calls before the watch: V8 enlarges its young generation, by up to 16 MB, at some point in the first tens of thousands. */
  readonly settling: number;
  /** Calls that are watched. */
  readonly calls: number;
  /** Calls between two looks at the resident memory. */
  readonly rssEvery: number;
}

/** Runs the work, and takes the growth of the resident memory, in MB, from the second to the last tenth of the calls. */
export async function soakTurn(side: Side, { run, settling, calls, rssEvery }: Soak): Promise<Turn> {
  const runAndWatch = async (count: number): Promise<number[]> => {
    const rss: number[] = [];
    for (let i = 0; i < count; i++) {
      await run(i);
      if (i % rssEvery === 0) {
        await eventLoopTurn();
        rss.push(process.memoryUsage.rss() / 2 ** 20);
      }
    }
    await eventLoopTurn();
    return rss;
  };
  await runAndWatch(settling);
  const before = held(side);
  const rss = await runAndWatch(calls);
  const after = held(side);
  const left = Object.keys(before).map((key) => [`${key} left over`, after[key]! - before[key]!]);
  const tenth = Math.floor(rss.length / 10);
  const second = median(rss.slice(tenth, 2 * tenth));
  const last = median(rss.slice(-tenth));
  return { samples: [last - second], figures: { 'resident, MB': last, ...Object.fromEntries(left) } };
}

/** What tfjs and the addon hold. */
function held(side: Side): Record<string, number> {
  const { numTensors, numBytes } = side.tf.memory();
  const native = side.nativeTensors?.();
  return {
    'tf tensors': numTensors,
    'tf bytes': numBytes,
    ...(native === undefined ? {} : { 'native tensors': native }),
  };
}
