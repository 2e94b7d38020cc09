import { expect } from 'chai';
import type * as tftrt from 'tfjs-backend-tftrt';
import { runTrap } from './child';
import type { Built } from './traps/memory_builds';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
/** What CUDA's context and libraries take, TensorRT's included, beyond what TensorFlow's allocator does. */
const LIBRARIES = 2 * GIB;
/** Less than CUDA's context takes of any process. */
const A_PROCESS = 64 * MIB;

const build = (net: 'convolutions' | 'heavy', configuration: tftrt.Configuration) =>
  runTrap<Built>('memory_builds.js', 'build', { argument: { net, configuration }, timeoutMs: 540_000 });

describe('memory of the GPU while engines are built', function () {
  this.timeout(600_000);

  function expectServing({ report, refused, error, predictionsByEngine }: Built): void {
    expect(refused, refused?.message).to.equal(undefined);
    expect(report!.serving, report!.reason).to.equal('tensorrt');
    expect(report!.engines).to.be.above(0);
    expect(error, 'of the prediction').to.be.at.most(1e-3);
    expect(predictionsByEngine).to.equal(1);
  }

  it('memoryLimitBytes holds for the process that builds, too, and for the engine that serves', async () => {
    const limit = 1.5 * GIB;
    const arena = 256 * MIB;
    const built = await build('convolutions', { memoryLimitBytes: limit, graphArenaBytes: arena });
    expectServing(built);
    const { buildMemory } = built.report!;
    expect(buildMemory!.limitBytes).to.equal(limit);
    expect(buildMemory!.peakBytes).to.be.within(MIB, limit);
    expect(built.takenMeanwhile, 'by nvidia-smi, while it was built').to.be.within(
      A_PROCESS,
      limit + LIBRARIES,
    );
    expect(built.memory.limitBytesInGPU).to.equal(limit - arena);
    expect(built.memory.peakBytesInGPU).to.be.at.most(limit - arena);
    expect(built.taken, 'by nvidia-smi, in the end').to.be.at.most(limit + LIBRARIES);
  });

  it('a fraction, too; the process that builds grows even where this one does not', async () => {
    const built = await build('convolutions', {
      perProcessGpuMemoryFraction: 0.06,
      allowGrowth: false,
      graphArenaBytes: 0,
    });
    expectServing(built);
    const { buildMemory } = built.report!;
    const share = 0.06 * built.totalBytes;
    expect(buildMemory!.limitBytes).to.be.within(0.95 * share, 1.01 * share);
    expect(buildMemory!.limitBytes, 'as in this process').to.equal(built.memory.limitBytesInGPU);
    expect(built.takenBefore, 'at once').to.be.at.least(0.95 * share);
    const grown = 2 * buildMemory!.peakBytes + LIBRARIES; // it grows by doubling
    expect(built.takenMeanwhile, 'as needed').to.be.at.most(grown);
  });

  it('with too little, an engine fits all the same or the error says what to raise', async () => {
    const limit = 256 * MIB;
    const built = await build('heavy', { memoryLimitBytes: limit, graphArenaBytes: 0 });
    const { refused, report, error, memory } = built;
    if (refused === undefined) expect(report!.buildMemory!.peakBytes).to.be.at.most(limit);
    else expect(refused.message).to.match(/raise memoryLimitBytes/i);
    expect(error, 'of the prediction').to.be.at.most(1e-3);
    expect(memory.peakBytesInGPU).to.be.at.most(limit);
    expect(built.takenMeanwhile, 'by nvidia-smi').to.be.at.most(limit + LIBRARIES);
  });
});
