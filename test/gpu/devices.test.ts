import { runOnTwoDevices } from './two_devices';

/** What test/process/devices.test.ts leaves: memory, streams and engines. */
describe('two GPU devices', function () {
  this.timeout(300_000);

  it('have memory and streams of their own', () => runOnTwoDevices('gpuMemory'));
  it('replay CUDA graphs of one model', () => runOnTwoDevices('cudaGraphs'));
  it('serve an engine on the second', () => runOnTwoDevices('engines'));
});
