import { BACKEND_NAME } from './kernels/table';

/** The device that each registered backend of this package computes on, by its number among the configured ones. */
const numbers = new Map([[BACKEND_NAME, 0]]);

/** The name of the backend that computes on a device: `tftrt:1`. `tftrt:0` is another name of `tftrt`. */
export function numberedName(device: number): string {
  return `${BACKEND_NAME}:${device}`;
}

/** Remembers a backend's device. */
export function nameDevice(backend: string, device: number): void {
  numbers.set(backend, device);
}

/** The device of a backend; undefined for one that is not of this package. */
export function deviceOfBackend(backend: string): number | undefined {
  return numbers.get(backend);
}
