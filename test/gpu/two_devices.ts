import { runTrap } from './child';

/**
 * Runs a function of `traps/devices.ts` in a process with two devices: the GPUs of TFTRT_DEVICE where that names several
 * (`gpu:0,gpu:1`), else one GPU that is divided, or two CPU devices.
 */
export function runOnTwoDevices(name: string): Promise<void> {
  const real = process.env.TFTRT_DEVICE?.includes(',');
  return runTrap('devices.js', name, real ? {} : { env: { TFTRT_TEST_VIRTUAL_GPUS: '2' } });
}
