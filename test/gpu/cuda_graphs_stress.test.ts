import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { onTftrt } from '../support/tftrt';
import { replays } from './capture';
import { convNet, denseNet, pixelNet, twoByTwoNet } from './nets';
import { engineSubject, Stress, type Subject, tensorFlowSubject } from './stress';

const SECONDS = Number(process.env.TFTRT_STRESS_SECONDS ?? 150);
const SEED = Number(process.env.TFTRT_STRESS_SEED ?? 1 + (Date.now() % 1_000_000));
/** What TensorFlow may keep that it had not before: handles and small constants of its libraries. */
const ALLOWED_GROWTH = 64 * 2 ** 20;

describe('CUDA graphs under stress', function () {
  this.timeout((SECONDS + 300) * 1000);
  onTftrt();

  const subjects: Subject[] = [];
  before(async () => {
    for (const net of [
      denseNet({ width: 128, layers: 4 }),
      convNet(),
      twoByTwoNet(),
      pixelNet({ size: 256 }),
    ]) {
      subjects.push(await tensorFlowSubject(net));
    }
    subjects.push(await engineSubject(convNet({ size: 64, channels: 32, layers: 10, seed: 3 })));
  });
  after(() => {
    for (const { model } of subjects) model.dispose();
  });

  it(`every result is right for ${SECONDS} s (seed ${SEED})`, async () => {
    await new Stress(subjects, SEED).run(1); // what is made once
    const { retired } = tftrt.stats().tiers;
    const { tensors, deviceBytesInUse } = tftrt.stats();
    const count = replays();
    const tally = await new Stress(subjects, SEED).run(SECONDS);
    console.log(`      ${JSON.stringify({ ...tally, replays: replays() - count })}`);
    expect(tftrt.stats().tiers.retired - retired, 'CUDA graphs that failed').to.equal(0);
    const predictions = tally.predictions! + tally['asynchronous predictions']! + tally['outputs kept']!;
    expect((replays() - count) / predictions, 'share of predictions by CUDA graphs').to.be.above(0.5);
    expect(tftrt.stats().tensors, 'native tensors').to.equal(tensors);
    const growth = tftrt.stats().deviceBytesInUse! - deviceBytesInUse!;
    expect(growth, 'device memory').to.be.at.most(ALLOWED_GROWTH);
  });
});
