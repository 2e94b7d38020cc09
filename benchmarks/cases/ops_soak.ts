import type { Tensor2D } from '@tensorflow/tfjs';
import { SOAK_TARGETS, soakTurn } from '../soaking';
import type { Case } from '../types';
import { seededFloats } from '../values';

const OPS = 1_000_000;
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
  targets: SOAK_TARGETS,
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
    const turn = () =>
      soakTurn(side, {
        run: () => run().dispose(),
        settling: SETTLING / OPS_PER_RUN,
        calls: OPS / OPS_PER_RUN,
        rssEvery: RSS_EVERY / OPS_PER_RUN,
      });
    return { warmUp: () => run().dispose(), turn };
  },
};
