import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import type { Tensor2D } from '@tensorflow/tfjs';
import { median } from '../statistics';
import { figureAtMost, medianAtMost } from '../targets';
import type { Case, Turn } from '../types';
import { seededFloats } from '../values';
import { held } from './soak';

const OPS = 1_000_000;
/** Before them: V8 enlarges its young generation, by up to 16 MB, at some point in the first tens of thousands. */
const SETTLING = 300_000;
const OPS_PER_RUN = 10;
const RSS_EVERY = 1000;

/** Does anything pile up in a process that calls small ops for days? */
export const opsSoak: Case = {
  name: 'ops-soak',
  title: `growth of resident memory over ${OPS.toLocaleString('en')} small ops, second to last tenth`,
  unit: 'MB',
  better: 'lower',
  sides: ['tftrt'],
  once: true,
  targets: [
    medianAtMost(3, 'MB'),
    figureAtMost('tf tensors left over', 0),
    figureAtMost('tf bytes left over', 0),
    figureAtMost('native tensors left over', 0),
  ],
  async prepare(side) {
    const { tf } = side;
    const a = tf.tensor2d(seededFloats(16, 1), [4, 4]) as Tensor2D;
    const b = tf.tensor2d(seededFloats(16, 2), [4, 4]) as Tensor2D;
    /** Ten ops, of both kinds that the addon knows (native/eager.cc), with and without attributes and constants. */
    const run = () =>
      tf.tidy(() => {
        const x = tf.matMul(a, b).add(a).relu().sub(1);
        const y = tf.concat([x, b], 1).slice([0, 2], [4, 4]).transpose();
        return y.mul(x).sum(1).less(0.5);
      });
    const runAndWatch = async (ops: number): Promise<number[]> => {
      const rss: number[] = [];
      for (let i = 0; i < ops; i += OPS_PER_RUN) {
        run().dispose();
        if (i % RSS_EVERY === 0) {
          await eventLoopTurn();
          rss.push(process.memoryUsage.rss() / 2 ** 20);
        }
      }
      await eventLoopTurn();
      return rss;
    };
    const turn = async (): Promise<Turn> => {
      await runAndWatch(SETTLING);
      const before = held(side);
      const rss = await runAndWatch(OPS);
      const after = held(side);
      const left = Object.keys(before).map((key) => [`${key} left over`, after[key]! - before[key]!]);
      const tenth = Math.floor(rss.length / 10);
      const second = median(rss.slice(tenth, 2 * tenth));
      const last = median(rss.slice(-tenth));
      return { samples: [last - second], figures: { 'resident, MB': last, ...Object.fromEntries(left) } };
    };
    return { warmUp: () => run().dispose(), turn };
  },
};
