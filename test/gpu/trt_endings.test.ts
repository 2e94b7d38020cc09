import { expect } from 'chai';
import { runTrap } from './child';

/** Processes, workers and models that end while an engine is being built for them. */
describe('TensorRT: ends in the middle of a build', function () {
  this.timeout(300_000);

  const ENDED = /^(tensorrt|tensorflow|TFTRT_[A-Z_]+)$/;

  it('of the model: the build ends, and others work', async () => {
    const result = await runTrap<{ ended: string; rightAfterwards: boolean }>(
      'endings.js',
      'disposeMeanwhile',
    );
    expect(result.ended).to.match(ENDED);
    expect(result.rightAfterwards).to.equal(true);
  });

  it('of the process by exit', async () => {
    expect(await runTrap('endings.js', 'exitMeanwhile')).to.equal('exiting');
  });

  it('of the process by itself: it waits for the build', async () => {
    expect(await runTrap('endings.js', 'endWithoutWaiting')).to.equal('ending');
  });

  it('of a worker', async () => {
    const result = await runTrap<{ rightAfterwards: boolean }>('endings.js', 'terminateWorker');
    expect(result.rightAfterwards).to.equal(true);
  });

  it("of tfjs's engine", async () => {
    const result = await runTrap<{ ended: string; sum: number }>('endings.js', 'resetMeanwhile');
    expect(result.ended).to.match(ENDED);
    expect(result.sum).to.equal(3);
  });
});
