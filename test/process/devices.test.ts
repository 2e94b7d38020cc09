import { expect } from 'chai';
import { runOnTwoDevices } from '../gpu/two_devices';
import { runNode } from './child';

/**
 * Several devices in one process: GPU devices where the tests run on a GPU, else CPU devices, which shows that each backend
 * keeps to its own tensors, ops and programs. What concerns a GPU's memory and streams is in test/gpu/devices.test.ts.
 */
describe('two devices in one process', function () {
  this.timeout(240_000);

  it('compute ops, each with its own tensors', () => runOnTwoDevices('ops'));
  it('take tensors of each other', () => runOnTwoDevices('moves'));
  it('have two names for the first', () => runOnTwoDevices('sameBackend'));
  it('run models', () => runOnTwoDevices('models'));
  it('serve several threads', () => runOnTwoDevices('workers'));
  it('run every model of the fixtures', () => runOnTwoDevices('fixtures'));

  it('are refused where they make no sense', async () => {
    const { stdout, stderr } = await runNode(`
      const tf = require('@tensorflow/tfjs-core');
      const tftrt = require('tfjs-backend-tftrt');
      const attempt = (options) => { try { tftrt.configure(options); console.log('ok'); } catch (error) { console.log(error.message); } };
      attempt({ devices: [] });
      attempt({ devices: 'gpu:0' });
      attempt({ devices: ['gpu:0', 'cpu'] });
      attempt({ devices: ['gpu:1', 'gpu:1'] });
      attempt({ devices: ['gpu:0', 'gpu:x'] });
      attempt({ devices: ['gpu:0'], device: 'gpu' });
      attempt({ devices: ['gpu:0', 'gpu:1'] });
      attempt({ device: 'cpu' });
      tf.setBackend('tftrt:1').then(() => tf.add(1, 2)).catch((error) => console.log(error.code, error.message.includes('tftrt:1')));`);
    expect(stdout.trim().split('\n'), stderr).to.deep.equal([
      "configure({devices}) is []; expected a list such as ['gpu:0', 'gpu:1'].",
      "configure({devices}) is 'gpu:0'; expected a list such as ['gpu:0', 'gpu:1'].",
      "configure({devices}) has 'cpu' in it; expected only GPUs.",
      'configure({devices}) is gpu:1,gpu:1; expected each GPU once.',
      "configure({devices}) is 'gpu:x'; expected 'cpu', 'gpu' or 'gpu:N'.",
      'configure has both device and devices; expected one of them.',
      'ok',
      'ok',
      'TFTRT_INVALID_ARGUMENT true',
    ]);
  });
});
