import path from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import { readFixture } from '../support/fixtures';
import { bytesOfObjects, bytesOutsideHeap, growthOf, inMiB } from '../support/memory';
import { expectBack, live, onTftrt, settle } from '../support/tftrt';

const RUNS = 20_000;
/** V8 and malloc take memory for as long: newer versions of Node.js more of it, and later. */
const WARM_UP = 12_000;
const ALLOWED_GROWTH = 3 * 2 ** 20;

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
      await expectBack(live, before_, 'after the predictions');
      // V8 fills what it has reserved only after a while.
      expect(growthOf(resident), `bytes that resident memory grew: ${inMiB(resident)} MiB`).to.be.at.most(
        ALLOWED_GROWTH,
      );
      expect(bytesOfObjects() - objects, 'bytes that live objects grew').to.be.at.most(ALLOWED_GROWTH / 2);
      model.dispose();
      x.dispose();
    });
  }
});
