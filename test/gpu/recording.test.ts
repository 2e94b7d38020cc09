import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import { expectBack, live, onTftrt } from '../support/tftrt';
import { expectSame, makeOnceOnly, reasonNotToCapture, replays } from './capture';
import { convNet, convolutionsOnlyNet, denseNet, type Net, predictSeed, tensors } from './nets';
import { relativeError } from './outcome';

const SECONDS = Number(process.env.TFTRT_RECORDING_SECONDS ?? 12);
/** Kernels that TensorFlow chooses anew for a CUDA graph may add in another order. */
const TOLERANCE = 1e-5;

/** What runs on this thread meanwhile: each op takes cuDNN's, or cuBLAS's, handle to the stream of eager ops. */
function work(): { run: () => tf.Tensor[]; dispose: () => void } {
  const x = tf.ones<tf.Rank.R4>([1, 8, 8, 4]);
  const filter = tf.ones<tf.Rank.R4>([3, 3, 4, 4]);
  const square = tf.ones<tf.Rank.R2>([32, 32]);
  const depthwise = tf.ones<tf.Rank.R4>([3, 3, 4, 2]);
  const gradient = tf.grad((w) => tf.conv2d(x, w as tf.Tensor4D, 1, 'same').sum());
  const ops = [
    () => tf.conv2d(x, filter, 1, 'same'),
    () => tf.matMul(square, square),
    () => tf.conv2d(x, filter, 2, 'valid'),
    () => tf.maxPool(x, 2, 2, 'same'),
    () => tf.conv2dTranspose(x, filter, [1, 8, 8, 4], 1, 'same'),
    () => tf.depthwiseConv2d(x, depthwise, 1, 'same'),
    () => gradient(filter),
  ];
  return { run: () => ops.map((op) => op()), dispose: () => tf.dispose([x, filter, square, depthwise]) };
}

/** Runs `step` until the promise is settled, letting others run between the steps. */
async function meanwhile<T>(promise: Promise<T>, step: () => void): Promise<T> {
  let ended = false;
  const result = promise.finally(() => {
    ended = true;
  });
  while (!ended) {
    step();
    await new Promise(setImmediate);
  }
  return result;
}

describe('CUDA graphs that are recorded while others work', function () {
  this.timeout((SECONDS + 120) * 1000);
  onTftrt();

  const CASES: [string, (seed: number) => Net][] = [
    // cuDNN's handle is in the recording until its end.
    ['convolutions alone', (seed) => convolutionsOnlyNet({ seed })],
    ['a convnet', (seed) => convNet({ layers: 4, seed })],
    ['dense layers', (seed) => denseNet({ seed })],
  ];

  for (const [name, netOf] of CASES) {
    it(`are right, and so is the work: ${name}, for ${SECONDS} s`, async () => {
      await makeOnceOnly();
      const before_ = live();
      const { run, dispose } = work();
      const values = () => run().map((result) => [result.dataSync(), result.dispose()][0] as Float32Array);
      const expected = values();
      /** Served by CUDA graphs; disposed of in the middle of the next recording. */
      let last: tf.GraphModel | undefined;

      const end = performance.now() + SECONDS * 1000;
      let recordings = 0;
      let rounds = 0;
      while (performance.now() < end) {
        const net = netOf(1 + (recordings % 5));
        const model = await net.load();
        const first = await predictSeed(model, net, 1);
        let steps = 0;
        const reason = await meanwhile(reasonNotToCapture(model, tensors(net, 1)), () => {
          for (let i = 0; i < 5; i++) tf.dispose(run());
          rounds += 5;
          if (++steps === 2) {
            last?.dispose();
            last = undefined;
          }
        });
        expect(reason, 'why it was not captured').to.equal(undefined);
        const count = replays();
        expect(
          relativeError(await predictSeed(model, net, 1), first),
          `recording ${recordings}`,
        ).to.be.at.most(TOLERANCE);
        expect(replays() - count, 'replays').to.equal(1);
        for (const [i, result] of values().entries()) expectSame(result, expected[i]!, `op ${i}`);
        last?.dispose();
        last = model;
        recordings++;
      }
      last?.dispose();
      dispose();
      console.log(`      ${JSON.stringify({ recordings, rounds })}`);
      expect(recordings).to.be.above(SECONDS / 2);
      await expectBack(live, before_, 'after dispose');
    });
  }
});
