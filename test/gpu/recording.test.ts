import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { onTftrt } from '../support/tftrt';
import { expectSame, reasonNotToCapture, replays } from './capture';
import { convolutionsOnlyNet, predictSeed, tensors } from './nets';
import { relativeError } from './outcome';

const SECONDS = Number(process.env.TFTRT_RECORDING_SECONDS ?? 20);
/** Kernels that TensorFlow chooses anew for a CUDA graph may add in another order. */
const TOLERANCE = 1e-5;

describe('CUDA graphs that are recorded while convolutions run', function () {
  this.timeout((SECONDS + 120) * 1000);
  onTftrt();

  // cuDNN's handle goes to and fro between the stream that is recorded and ours, also as the recording ends.
  it(`are right, and so are the convolutions, for ${SECONDS} s`, async () => {
    const x = tf.ones<tf.Rank.R4>([1, 8, 8, 4]);
    const filter = tf.ones<tf.Rank.R4>([3, 3, 4, 4]);
    const convolve = () => tf.conv2d(x, filter, 1, 'same');
    const expected = tf.tidy(() => convolve().dataSync());
    const { tensors: before } = tftrt.stats();

    const end = performance.now() + SECONDS * 1000;
    let recordings = 0;
    let convolutions = 0;
    while (performance.now() < end) {
      const net = convolutionsOnlyNet({ seed: 1 + (recordings % 5) });
      const model = await net.load();
      const first = await predictSeed(model, net, 1);
      const inputs = tensors(net, 1);
      let ended = false;
      const recording = reasonNotToCapture(model, inputs).finally(() => {
        ended = true;
      });
      while (!ended) {
        for (let i = 0; i < 50; i++) convolve().dispose();
        convolutions += 50;
        await new Promise(setImmediate);
      }
      expect(await recording, 'why it was not captured').to.equal(undefined);
      const count = replays();
      const replayed = await predictSeed(model, net, 1);
      expect(replays() - count, 'replays').to.equal(1);
      expect(relativeError(replayed, first), `recording ${recordings}`).to.be.at.most(TOLERANCE);
      expectSame(
        tf.tidy(() => convolve().dataSync()),
        expected,
        'a convolution',
      );
      model.dispose();
      recordings++;
    }
    console.log(`      ${JSON.stringify({ recordings, convolutions })}`);
    expect(recordings).to.be.above(SECONDS / 2);
    expect(tftrt.stats().tensors, 'native tensors').to.equal(before);
    tf.dispose([x, filter]);
  });
});
