import { findBackend } from '@tensorflow/tfjs-core';
import { TftrtError } from '../errors';
import { TftrtBackend } from './backend';
import { BACKEND_NAME } from './kernels/table';

/**
 * This thread's instance of the backend, whatever backend is active: models and codecs make their tensors in it.
 * Starts it at the first call; throws the reason where it cannot be started.
 */
export function tftrtBackend(): TftrtBackend {
  const backend = findBackend(BACKEND_NAME);
  if (backend instanceof TftrtBackend) return backend;
  // A stand-in that throws why TensorFlow is unavailable, whatever is asked of it.
  backend?.memory();
  throw new TftrtError(
    'TFTRT_NOT_REGISTERED',
    "The backend 'tftrt' is not registered with this copy of @tensorflow/tfjs-core: two copies are installed.",
  );
}
