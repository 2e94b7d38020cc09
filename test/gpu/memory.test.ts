import { expect } from 'chai';
import type * as tftrt from 'tfjs-backend-tftrt';
import { runTrap } from './child';
import { EXPECTED_OF_COMPUTE, type Exhausted, type Started } from './traps/memory';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
/** What CUDA's context and libraries take, beyond what TensorFlow's allocator does. */
const LIBRARIES = 1.5 * GIB;

const start = (configuration: tftrt.Configuration) =>
  runTrap<Started & { value: number }>('memory.js', 'start', { argument: configuration });

/** GPU devices, as `devices()` shows them. */
const gpus = ({ devices }: Started) => devices.filter(({ type }) => type === 'GPU');

describe('memory of the GPU', function () {
  this.timeout(300_000);

  it('memoryLimitBytes: more than that is an error, and the process goes on', async () => {
    const limit = 2 * GIB;
    const { full, after, pieces, codes, messages, intact, value } = await runTrap<Exhausted>(
      'memory.js',
      'exhaust',
      { argument: { memoryLimitBytes: limit, graphArenaBytes: 256 * MIB } },
    );
    expect(codes, messages.join('\n')).to.deep.equal([
      'TFTRT_RESOURCE_EXHAUSTED',
      'TFTRT_RESOURCE_EXHAUSTED',
    ]);
    const room = limit - 256 * MIB;
    for (const count of pieces) {
      expect(count * 64 * MIB, 'bytes there was room for').to.be.within(0.7 * room, room);
    }
    expect(intact, 'values').to.equal(true);
    expect(value, 'afterwards').to.equal(EXPECTED_OF_COMPUTE);
    for (const { memory, takenBytes } of [full, after]) {
      expect(memory.limitBytesInGPU).to.equal(room);
      expect(memory.peakBytesInGPU).to.be.within(memory.numBytesInGPU, room);
      expect(takenBytes, 'by nvidia-smi').to.be.at.most(limit + LIBRARIES);
    }
    expect(full.memory.numBytesInGPU).to.be.at.least(pieces[0]! * 64 * MIB);
    expect(after.memory.numBytesInGPU, 'after all is disposed of').to.be.at.most(64 * MIB);
    expect(after.memory.peakBytesInGPU).to.be.at.least(pieces[0]! * 64 * MIB);
  });

  it('allowGrowth: false takes it at once, true does not', async () => {
    const limit = 8 * GIB;
    const options = { memoryLimitBytes: limit, graphArenaBytes: 0 };
    const whole = await start({ ...options, allowGrowth: false });
    const growing = await start({ ...options, allowGrowth: true });
    for (const { value } of [whole, growing]) expect(value).to.equal(EXPECTED_OF_COMPUTE);
    expect(whole.takenBytes, 'at once').to.be.within(0.95 * limit, limit + LIBRARIES);
    expect(growing.takenBytes, 'by and by').to.be.at.most(limit / 2);
  });

  it('perProcessGpuMemoryFraction is a share of the whole', async () => {
    const started = await start({ perProcessGpuMemoryFraction: 0.125, graphArenaBytes: 512 * MIB });
    expect(started.value).to.equal(EXPECTED_OF_COMPUTE);
    const expected = started.totalBytes * 0.125 - 512 * MIB;
    expect(started.memory.limitBytesInGPU).to.be.within(0.95 * expected, 1.01 * expected);
  });

  it('memoryLimitBytes wins over the fraction', async () => {
    const { memory } = await start({
      memoryLimitBytes: 3 * GIB,
      perProcessGpuMemoryFraction: 0.5,
      graphArenaBytes: GIB,
    });
    expect(memory.limitBytesInGPU).to.equal(2 * GIB);
  });

  it('by default is nearly all, taken by and by, with an arena that devices() does not show', async () => {
    const started = await start({});
    const { memory, totalBytes, takenBytes } = started;
    expect(memory.limitBytesInGPU).to.be.within(0.85 * totalBytes, totalBytes);
    expect(takenBytes).to.be.at.most(4 * GIB);
    expect(gpus(started)).to.have.lengthOf(1);
    expect(gpus(started)[0]!.memoryLimitBytes).to.equal(memory.limitBytesInGPU);
  });

  it('limits that do not fit are refused at the first use; others can be chosen then, but not later', async () => {
    const right = { memoryLimitBytes: 2 * GIB, graphArenaBytes: 256 * MIB };
    const wrong: Array<[string, tftrt.Configuration]> = [
      ['memoryLimitBytes', { memoryLimitBytes: 2 ** 50 }],
      ['graphArenaBytes', { memoryLimitBytes: GIB, graphArenaBytes: 768 * MIB }],
    ];
    for (const [option, configuration] of wrong) {
      const { code, message, value, late } = await runTrap<{
        code?: string;
        message: string;
        value: number;
        late?: string;
      }>('memory.js', 'misfit', { argument: [configuration, right] });
      expect(code, message).to.equal('TFTRT_INVALID_ARGUMENT');
      expect(message).to.include(option);
      expect(value, 'with other limits').to.equal(EXPECTED_OF_COMPUTE);
      expect(late).to.equal('TFTRT_ALREADY_CONFIGURED');
    }
  });
});
