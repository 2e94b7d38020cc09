import path from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import { readFixture } from '../support/fixtures';
import { live, onTftrt } from '../support/tftrt';

const RUNS = 20_000;
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
      tf.dispose(await model[mode](x));
      const before_ = live();
      const resident: number[] = [];
      for (let i = 0; i < RUNS; i++) {
        const y = (await model[mode](x)) as tf.Tensor;
        if (i % 100 === 0) {
          await y.data();
          resident.push(process.memoryUsage.rss());
        }
        y.dispose();
      }
      expect(live()).to.deep.equal(before_);
      const tenth = resident.length / 10;
      const second = Math.max(...resident.slice(tenth, 2 * tenth));
      const last = Math.max(...resident.slice(-tenth));
      expect(last - second, 'bytes that resident memory grew').to.be.at.most(ALLOWED_GROWTH);
      model.dispose();
      x.dispose();
    });
  }
});
