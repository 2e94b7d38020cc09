import { expect } from 'chai';
import type * as tftrt from 'tfjs-backend-tftrt';
import { runTrap } from './child';
import type { ArenaResult } from './traps/memory';

const MIB = 2 ** 20;

const inArena = (configuration: tftrt.Configuration) =>
  runTrap<ArenaResult>('memory.js', 'arena', { argument: configuration });

describe('the memory of CUDA graphs', function () {
  this.timeout(300_000);

  it('is enough by default', async () => {
    const { reasons, capturedGraphs, right, arenaBytes, devices } = await inArena({});
    expect(reasons).to.deep.equal([null, null, null]);
    expect(capturedGraphs).to.equal(3);
    expect(right).to.equal(true);
    expect(arenaBytes).to.be.above(0);
    expect(
      devices.map(({ type }) => type),
      'without the arena',
    ).to.deep.equal(['CPU', 'GPU']);
  });

  it('is used where all memory is taken at the start, too', async () => {
    const { reasons, right } = await inArena({
      allowGrowth: false,
      memoryLimitBytes: 4096 * MIB,
      graphArenaBytes: 512 * MIB,
    });
    expect(reasons).to.deep.equal([null, null, null]);
    expect(right).to.equal(true);
  });

  it('may be too small: what does not fit is not captured, and right', async () => {
    const graphArenaBytes = 24 * MIB; // the pixels need 16 MiB for the input alone
    const { reasons, capturedGraphs, right, arenaBytes } = await inArena({ graphArenaBytes });
    expect(reasons[0], 'the small dense net').to.equal(null);
    expect(reasons[2]).to.match(/arena|memory|allocate|OOM|exhausted/i);
    expect(capturedGraphs).to.equal(reasons.filter((reason) => reason === null).length);
    expect(right).to.equal(true);
    expect(arenaBytes).to.be.within(1, graphArenaBytes);
  });

  it('may be none at all', async () => {
    const { reasons, capturedGraphs, right, arenaBytes, devices } = await inArena({ graphArenaBytes: 0 });
    for (const reason of reasons) expect(reason).to.include('graphArenaBytes');
    expect({ capturedGraphs, right, arenaBytes }).to.deep.equal({
      capturedGraphs: 0,
      right: true,
      arenaBytes: 0,
    });
    expect(devices).to.have.lengthOf(2);
  });

  it('comes back: as many fit again after dispose', async () => {
    const { captured } = await runTrap<{ captured: number[] }>('memory.js', 'refill', {
      argument: { graphArenaBytes: 128 * MIB },
    });
    expect(captured[0]).to.be.within(2, 39);
    for (const count of captured) expect(count).to.be.at.least(captured[0]! - 1); // free memory may be in other pieces
  });
});
