import { registerDevices } from './backend/register';
import { type Configuration, choose } from './config';

/**
 * Sets options of TensorFlow's devices; call it before the first use of the backend.
 * Throws `TFTRT_ALREADY_CONFIGURED` after it, and `TFTRT_INVALID_ARGUMENT` for an unknown option or a wrong value.
 */
export function configure(configuration: Configuration): void {
  choose(configuration);
  registerDevices();
}
