import {
  getKernelsForBackend,
  type KernelBackend,
  registerBackend,
  registerKernel,
} from '@tensorflow/tfjs-core';
import { nativeRuntime } from '../native';
import { TftrtBackend } from './backend';
import { kernelRows } from './kernels';
import { toKernelConfig } from './kernels/run_row';
import { BACKEND_NAME } from './kernels/table';

/** Above cpu (1) and webgl (2); the same as that of tfjs-node's backend. */
const PRIORITY = 3;

/** Registers the backend and its kernels with tfjs, once per process and copy of tfjs-core. */
export function registerTftrt(): void {
  const known = new Set(getKernelsForBackend(BACKEND_NAME).map((kernel) => kernel.kernelName));
  for (const row of kernelRows) {
    if (!known.has(row.kernel)) registerKernel(toKernelConfig(row));
  }
  registerBackend(BACKEND_NAME, createBackend, PRIORITY);
}

/**
 * tfjs turns an exception of this factory into a warning, and goes on with another backend. So where TensorFlow cannot be
 * loaded, a backend is returned whose every use throws the reason.
 */
function createBackend(): KernelBackend {
  try {
    return new TftrtBackend(nativeRuntime());
  } catch (error) {
    return unavailableBackend(error as Error);
  }
}

/** What tfjs may call without wanting the backend to compute. */
const HARMLESS = new Set<string | symbol>([
  'dispose',
  'then',
  'constructor',
  'numDataIds',
  'refCount',
  'disposeData',
]);

function unavailableBackend(reason: Error): KernelBackend {
  return new Proxy({} as KernelBackend, {
    get(_, property) {
      if (HARMLESS.has(property)) return undefined;
      throw reason;
    },
  });
}
