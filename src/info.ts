import { activeDevice } from './backend/active';
import { fallbackCounts } from './backend/kernels/fallback';
import {
  type DeviceInfo,
  type NativeRuntime,
  type NativeStats,
  nativeRuntime,
  startedRuntimes,
  type Transfers,
} from './native';

import { notCaptured, tierCounts } from './program/tiers';
import { automaticBuilds } from './tensorrt/auto_build';

export type { DeviceInfo, Transfers };

/** Figures of this thread that each device has. */
type Figures = Omit<NativeStats, 'transfers'> & {
  /** Small operands (axes, paddings) that are kept for the next call that needs them; not in `tensors`. */
  readonly constants: number;
};

/** Figures of one device's backend. */
export interface BackendStats extends Figures {
  /** Where it computes, in TensorFlow's terms. */
  readonly device: string;
}

/** Figures of this thread, for monitoring and tests: those of all devices that were used together, and each one's own. */
export interface Stats extends Figures {
  readonly tensorFlowVersion: string;
  /** Where computations run, in TensorFlow's terms: the active backend's device. */
  readonly device: string;
  /** By number: that of `tftrt` and `tftrt:0`, that of `tftrt:1`… if they were used. */
  readonly backends: readonly BackendStats[];
  readonly transfers: Transfers;
  /** Runs of models by what served them; `outsideProfiles`: by TensorFlow, because no engine is for their shapes. */
  readonly tiers: Readonly<typeof tierCounts>;
  /** How many sets of shapes of models are not replayed as CUDA graphs, by the reason. */
  readonly notCaptured: Readonly<Record<string, number>>;
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
  const runtime = nativeRuntime(activeDevice());
  const backends = startedRuntimes().map(backendStats);
  const { device: _device, ...sum } = backends.reduce(added);
  return {
    tensorFlowVersion: runtime.tensorFlowVersion,
    device: runtime.deviceName,
    ...sum,
    backends,
    transfers: runtime.addon.stats().transfers,
    tiers: { ...tierCounts },
    notCaptured: { ...notCaptured },
    builds: { ...automaticBuilds },
    fallbacks: fallbackCounts(),
  };
}

function backendStats(runtime: NativeRuntime): BackendStats {
  const { transfers: _transfers, ...native } = runtime.addon.stats();
  return {
    device: runtime.deviceName,
    ...native,
    tensors: native.tensors - runtime.keptConstants,
    constants: runtime.keptConstants,
  };
}

function added(a: BackendStats, b: BackendStats): BackendStats {
  const sum = Object.entries(a).map(([name, value]) => [
    name,
    typeof value === 'number' ? value + (b[name as keyof BackendStats] as number) : value,
  ]);
  return Object.fromEntries(sum) as BackendStats;
}
