import path from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import { readFixture } from '../support/fixtures';
import { live, onTftrt, settle } from '../support/tftrt';

const RUNS = 20_000;
/** V8 and malloc take memory for as long: newer versions of Node.js more of it, and later. */
const WARM_UP = 12_000;
const ALLOWED_GROWTH = 3 * 2 ** 20;

/** V8 takes more for its heap, or less, as it sees fit, so that is counted by what lives in it. */
function bytesOutsideHeap(): number {
  const { rss, heapTotal } = process.memoryUsage();
  return rss - heapTotal;
}

function bytesOfObjects(): number {
  if (globalThis.gc === undefined) throw new Error('The tests need --expose-gc.');
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

describe('20,000 predictions', function () {
  this.timeout(240_000);
  onTftrt();

  for (const mode of ['predict', 'predictAsync'] as const) {
    it(`leave memory as it was (${mode})`, async () => {
      const model = await tf.loadGraphModel(
        `file://${path.join(readFixture('graph_models', 'small_cnn').folder, 'model.json')}`,
      );
      const x = tf.randomUniform([1, 16, 16, 3], 0, 1, 'float32', 1);
      await settle(async () => tf.dispose(await model[mode](x)));
      const before_ = live();
      const run = async (i: number) => {
        const y = (await model[mode](x)) as tf.Tensor;
        if (i % 100 === 0) await y.data();
        y.dispose();
      };
      for (let i = 0; i < WARM_UP; i++) await run(i);
      const objects = bytesOfObjects();
      const resident: number[] = [];
      for (let i = 0; i < RUNS; i++) {
        await run(i);
        if (i % 100 === 0) resident.push(bytesOutsideHeap());
      }
      expect(live()).to.deep.equal(before_);
      // V8 fills what it has reserved only after a while.
      const first = Math.max(...resident.slice(0, resident.length / 4));
      const last = Math.min(...resident.slice(-resident.length / 10));
      expect(last - first, 'bytes that resident memory grew').to.be.at.most(ALLOWED_GROWTH);
      expect(bytesOfObjects() - objects, 'bytes that live objects grew').to.be.at.most(ALLOWED_GROWTH / 2);
      model.dispose();
      x.dispose();
    });
  }
});
