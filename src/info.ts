import { fallbackCounts } from './backend/kernels/fallback';
import { type DeviceInfo, type NativeStats, nativeRuntime, type Transfers } from './native';

import { tierCounts } from './program/tiers';
import { automaticBuilds } from './tensorrt/auto_build';

export type { DeviceInfo, Transfers };

/** Figures of this thread, for monitoring and tests. */
export interface Stats extends NativeStats {
  readonly tensorFlowVersion: string;
  /** Where computations run, in TensorFlow's terms. */
  readonly device: string;
  /** Small operands (axes, paddings) that are kept for the next call that needs them; not in `tensors`. */
  readonly constants: number;
  /** Runs of models by what served them; `outsideProfiles`: by TensorFlow, because no engine is for their shapes. */
  readonly tiers: Readonly<typeof tierCounts>;
  /** Builds of `allowBuildAtRuntime`. Those that failed are not tried again. */
  readonly builds: Readonly<typeof automaticBuilds>;
  /** Kernel calls that TensorFlow could not compute, by kernel: @tensorflow/tfjs-backend-cpu did. */
  readonly fallbacks: Readonly<Record<string, number>>;
}

/** TensorFlow's devices in this process. Starts TensorFlow if need be. */
export function devices(): DeviceInfo[] {
  return nativeRuntime().addon.devices();
}

/** Live native objects, memory and versions. Starts TensorFlow if need be. */
export function stats(): Stats {
  const runtime = nativeRuntime();
  const native = runtime.addon.stats();
  return {
    tensorFlowVersion: runtime.tensorFlowVersion,
    device: runtime.deviceName,
    ...native,
    tensors: native.tensors - runtime.keptConstants,
    constants: runtime.keptConstants,
    tiers: { ...tierCounts },
    builds: { ...automaticBuilds },
    fallbacks: fallbackCounts(),
  };
}
