import { runTrap } from './child';

/** A GPU that is divided into two devices: what test/process/devices.test.ts leaves. */
describe('two devices on a GPU', function () {
  this.timeout(300_000);
  const run = (name: string) => runTrap('devices.js', name, { env: { TFTRT_TEST_VIRTUAL_GPUS: '2' } });

  it('have memory and streams of their own', () => run('gpuMemory'));
  it('replay CUDA graphs of one model', () => run('cudaGraphs'));
  it('serve an engine on the second', () => run('engines'));
});
