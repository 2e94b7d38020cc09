// The GPU's memory for the process that builds engines. TensorRT's builder allocates from TensorFlow's allocator there, as engines do
// where they serve, so that its limit holds for both; ways to compute a layer that do not fit are left out.

import type { Configuration } from '../config';
import { TftrtError } from '../errors';
import type { NativeRuntime } from '../native';
import type { BuildLog } from './build_log';
import type { BuildRequest } from './build_request';

/** The options of `configure` that hold for the process that builds, too. */
export type MemoryLimit = Pick<Configuration, 'memoryLimitBytes' | 'perProcessGpuMemoryFraction'>;

/** What building took of the GPU's memory, CUDA's own libraries apart. */
export interface BuildMemory {
  /** The most that was in use at a time. */
  readonly peakBytes: number;
  /** What might have been. */
  readonly limitBytes: number;
}

/**
 * As much for the process that builds as for this one. It is no part of engines' names in the cache: they compute the same, and what
 * others happen to leave free of a GPU makes as much of a difference.
 */
export function memoryLimitOf({ memoryLimitBytes, perProcessGpuMemoryFraction }: Configuration): MemoryLimit {
  return { memoryLimitBytes, perProcessGpuMemoryFraction };
}

/**
 * The most scratch of one layer, 0 for any: it cannot serve with more than this process may take for other than CUDA graphs, where
 * that is limited.
 */
export function workspaceBound({
  configuration,
  addon,
}: Pick<NativeRuntime, 'configuration' | 'addon'>): number {
  return nameOf(configuration) === undefined ? 0 : (addon.stats().deviceLimitBytes ?? 0);
}

/** The scratch that a layer may have, 0 for any. */
export function workspaceOf({
  maxWorkspaceSizeBytes: wanted,
  workspaceBound: bound,
}: Pick<BuildRequest, 'maxWorkspaceSizeBytes' | 'workspaceBound'>): number {
  return wanted > 0 && bound > 0 ? Math.min(wanted, bound) : wanted || bound;
}

/** What to do where a build failed and its log tells of a lack of memory, to be appended to the reason; else nothing. */
export function memoryAdvice(
  lack: BuildLog['lack'],
  { memoryLimit, maxWorkspaceSizeBytes }: Pick<BuildRequest, 'memoryLimit' | 'maxWorkspaceSizeBytes'>,
): string {
  if (lack === undefined) return '';
  const limit = nameOf(memoryLimit);
  if (lack === 'workspace' && maxWorkspaceSizeBytes > 0) {
    return (
      ` A layer needs more scratch than the ${maxWorkspaceSizeBytes} bytes that it may have: raise maxWorkspaceSizeBytes` +
      `${limit === undefined ? '' : `, and ${limit}, which bounds it`}.`
    );
  }
  if (limit === undefined) {
    return (
      " TensorRT's log tells of too little memory of the GPU: building takes what this process and others leave free. Leave more free, " +
      'for one by a memoryLimitBytes for this process, or build for smaller shapes.'
    );
  }
  return (
    ` TensorRT's log tells of too little memory of the GPU: the process that builds may take as much as this one (${limit}: ${memoryLimit[limit]}), ` +
    `as far as the GPU has it free. Raise ${limit}, leave more of the GPU free, or build for smaller shapes.`
  );
}

/**
 * The error of engines that are loaded and that TensorRT does not run, where it is that: TF-TRT then turns to the segments that
 * they were made of, which have lost their weights.
 */
export function refusedRun(error: unknown, label: string): unknown {
  const refused = error instanceof TftrtError && error.message.includes('must feed a value for placeholder');
  if (!refused) return error;
  return new TftrtError(
    'TFTRT_ENGINE_BUILD_FAILED',
    `TensorRT does not run the engines of ${label} on the samples. Mostly their scratch finds no room in the GPU's memory that ` +
      'TensorFlow may take: raise memoryLimitBytes or perProcessGpuMemoryFraction, dispose of models and tensors, or set a lower ' +
      'maxWorkspaceSizeBytes. TensorFlow goes on serving the model.',
    { cause: error },
  );
}

/** The option that limits the memory. */
function nameOf(limit: MemoryLimit): keyof MemoryLimit | undefined {
  if (limit.memoryLimitBytes !== undefined) return 'memoryLimitBytes';
  return limit.perProcessGpuMemoryFraction === undefined ? undefined : 'perProcessGpuMemoryFraction';
}
