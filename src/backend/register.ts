import {
  findBackend,
  findBackendFactory,
  getKernelsForBackend,
  type KernelBackend,
  registerBackend,
  registerKernel,
} from '@tensorflow/tfjs-core';
import { numberOfDevices } from '../config';
import { nativeRuntime } from '../native';
import { TftrtBackend } from './backend';
import { replaceGradients } from './gradients';
import { kernelRows } from './kernels';
import { foreignKernel } from './kernels/fallback';
import { toKernelConfig } from './kernels/run_row';
import { BACKEND_NAME } from './kernels/table';
import { nameDevice, numberedName } from './names';
import { isAvailable, shareAvailability, unavailableBackend } from './unavailable';

/** Above cpu (1) and webgl (2); the same as that of tfjs-node's backend. */
const PRIORITY = 3;

/** tfjs takes none of the other names by itself: below cpu. */
const OTHER_NAMES_PRIORITY = 0;

/** Registers the backend and its kernels with tfjs, once per process and copy of tfjs-core. */
export function registerTftrt(): void {
  const known = registeredKernels(BACKEND_NAME);
  for (const row of kernelRows) {
    if (!known.has(row.kernel)) registerKernel(toKernelConfig(row));
  }
  registerBackend(BACKEND_NAME, () => createBackend(0, BACKEND_NAME), PRIORITY);
  registerDevices();
}

/** Registers a backend for each device that is configured: `tftrt:0`, which is `tftrt` itself, `tftrt:1`… */
export function registerDevices(): void {
  for (let device = 0; device < numberOfDevices(); device++) registerNamed(numberedName(device), device);
}

/** Registers the backend `tftrt` under another name too, for programs that set it by that. */
export function registerAlias(name: string): void {
  registerNamed(name, 0);
}

function registerNamed(name: string, device: number): void {
  if (findBackendFactory(name)) return;
  nameDevice(name, device);
  const known = registeredKernels(name);
  for (const kernel of getKernelsForBackend(BACKEND_NAME)) {
    if (!known.has(kernel.kernelName)) registerKernel({ ...kernel, backendName: name });
  }
  registerBackend(
    name,
    () => (device === 0 ? sameBackend(name) : createBackend(device, name)),
    OTHER_NAMES_PRIORITY,
  );
}

/** The backend `tftrt` under another name. */
function sameBackend(name: string): KernelBackend {
  const backend = findBackend(BACKEND_NAME);
  shareAvailability(BACKEND_NAME, name);
  registerForeignKernels(name);
  return backend;
}

/** Where TensorFlow cannot be loaded, one whose every use throws the reason. */
function createBackend(device: number, name: string): KernelBackend {
  try {
    const backend = new TftrtBackend(nativeRuntime(device));
    registerForeignKernels(name);
    replaceGradients();
    isAvailable(name);
    // Another thread may have configured more devices than this one.
    registerDevices();
    return backend;
  } catch (error) {
    return unavailableBackend(name, error as Error);
  }
}

/** What tfjs-backend-cpu can compute and this backend cannot, it computes in this one's stead, with a warning. */
function registerForeignKernels(name: string): void {
  const known = registeredKernels(name);
  for (const kernel of registeredKernels('cpu')) {
    if (!known.has(kernel)) registerKernel({ ...foreignKernel(kernel), backendName: name });
  }
}

function registeredKernels(backend: string): Set<string> {
  return new Set(getKernelsForBackend(backend).map(({ kernelName }) => kernelName));
}
