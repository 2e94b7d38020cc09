import {
  getKernelsForBackend,
  type KernelBackend,
  registerBackend,
  registerKernel,
} from '@tensorflow/tfjs-core';
import { nativeRuntime } from '../native';
import { TftrtBackend } from './backend';
import { kernelRows } from './kernels';
import { foreignKernel } from './kernels/fallback';
import { toKernelConfig } from './kernels/run_row';
import { BACKEND_NAME } from './kernels/table';

/** Above cpu (1) and webgl (2); the same as that of tfjs-node's backend. */
const PRIORITY = 3;

/** Registers the backend and its kernels with tfjs, once per process and copy of tfjs-core. */
export function registerTftrt(): void {
  const known = registeredKernels(BACKEND_NAME);
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
    const backend = new TftrtBackend(nativeRuntime());
    registerForeignKernels();
    return backend;
  } catch (error) {
    return unavailableBackend(error as Error);
  }
}

/** What tfjs-backend-cpu can compute and this backend cannot, it computes in this one's stead, with a warning. */
function registerForeignKernels(): void {
  const known = registeredKernels(BACKEND_NAME);
  for (const kernel of registeredKernels('cpu')) {
    if (!known.has(kernel)) registerKernel(foreignKernel(kernel));
  }
}

function registeredKernels(backend: string): Set<string> {
  return new Set(getKernelsForBackend(backend).map(({ kernelName }) => kernelName));
}

/** What tfjs may ask for, or call, without wanting the backend to compute. */
const HARMLESS = new Map<string | symbol, unknown>([
  ['then', undefined],
  ['constructor', undefined],
  ['dispose', () => undefined],
  ['numDataIds', () => 0],
  ['refCount', () => 0],
  ['disposeData', () => true],
]);

function unavailableBackend(reason: Error): KernelBackend {
  return new Proxy({} as KernelBackend, {
    get(_, property) {
      if (HARMLESS.has(property)) return HARMLESS.get(property);
      throw reason;
    },
  });
}
