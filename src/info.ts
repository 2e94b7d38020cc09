import { type DeviceInfo, type NativeStats, nativeRuntime } from './native';

export type { DeviceInfo };

/** Figures of this thread, for monitoring and tests. */
export interface Stats extends NativeStats {
  readonly tensorFlowVersion: string;
  /** Where computations run, in TensorFlow's terms. */
  readonly device: string;
}

/** TensorFlow's devices in this process. Starts TensorFlow if need be. */
export function devices(): DeviceInfo[] {
  return nativeRuntime().addon.devices();
}

/** Live native objects, memory and versions. Starts TensorFlow if need be. */
export function stats(): Stats {
  const runtime = nativeRuntime();
  return {
    tensorFlowVersion: runtime.tensorFlowVersion,
    device: runtime.deviceName,
    ...runtime.addon.stats(),
  };
}
