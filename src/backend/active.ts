import { findBackend, findBackendFactory, getBackend } from '@tensorflow/tfjs-core';
import { TftrtError } from '../errors';
import { TftrtBackend } from './backend';
import { BACKEND_NAME } from './kernels/table';
import { deviceOfBackend, numberedName } from './names';

/** The number of the device that is in use: that of the active backend, or the first where that is not of this package. */
export function activeDevice(): number {
  return deviceOfBackend(getBackend()) ?? 0;
}

/**
 * This thread's backend of a device, by default of the one in use: models and codecs make their tensors in it, whatever backend
 * is active. Starts it at the first call; throws the reason where it cannot be started.
 */
export function tftrtBackend(device = activeDevice()): TftrtBackend {
  const name = device === 0 ? BACKEND_NAME : numberedName(device);
  const backend = findBackend(name);
  if (backend instanceof TftrtBackend) return backend;
  // A stand-in that throws why TensorFlow is unavailable, whatever is asked of it.
  backend?.memory();
  throw new TftrtError(
    'TFTRT_NOT_REGISTERED',
    findBackendFactory(name) === null
      ? `The backend '${name}' was removed by tf.removeBackend('${name}'): models and images of this package cannot be used without it, ` +
          'in this thread. To compute with another backend for a while, use tf.setBackend() alone; to free the memory, dispose of models and tensors.'
      : `The backend '${name}' is not that of tfjs-backend-tftrt: other code registered one by that name first. Give that another name.`,
  );
}
