import type { TensorInfo } from '@tensorflow/tfjs-core';
import { onRecurringCall, type RecurringCall } from '../program/recurring';
import { callableKey, planRequest } from '../program/requests';
import { buildModel } from './build';
import type { Buildable } from './context';
import type { BuildOptions } from './options';
import { runtimeBuilds } from './runtime_builds';

/** Engines that are built in the background in this thread: `failed` ones are not tried again. */
export const automaticBuilds = { running: 0, done: 0, failed: 0 };

type Builder = (model: Buildable, options: BuildOptions) => Promise<unknown>;

/** Builds engines for calls that recur, where the configuration or a build of the model says so. */
export function buildAtRuntime(): void {
  onRecurringCall((call) => takeCall(call, (model, options) => buildModel(model, options, true)));
}

/**
 * Starts a build for the call, from a copy of its inputs, unless one is going on in this process, or none is allowed so far: then
 * it returns false. Never throws, and never makes anybody wait.
 */
export function takeCall(call: RecurringCall, builder: Builder): boolean {
  const { runtime } = call.backend;
  const { allowed, most, options } = runtimeBuilds(call.program, runtime.configuration);
  if (!allowed || hasEngines(call, most)) return false;
  if (!runtime.addon.claimBuild()) return false;
  automaticBuilds.running++;
  build(call, builder, options)
    .then(
      () => automaticBuilds.done++,
      () => automaticBuilds.failed++,
    )
    .finally(() => {
      automaticBuilds.running--;
      runtime.addon.endBuild();
    });
  return true;
}

/** Whether there are engines for so many sets of shapes. */
function hasEngines({ backend, program, feeds, fetches }: RecurringCall, most: number): boolean {
  return Number.isFinite(most) && program.tiers(backend).enginesOf(callableKey(feeds, fetches)) >= most;
}

async function build(call: RecurringCall, builder: Builder, options: BuildOptions): Promise<void> {
  const { backend, program, feeds, fetches } = call;
  // The memory itself may be somebody else's, who writes to it again.
  const copies: TensorInfo[] = [];
  try {
    const values = await Promise.all(call.inputs.map(({ dataId }) => backend.read(dataId)));
    for (const [i, { shape, dtype }] of call.inputs.entries()) {
      copies.push({ dataId: backend.write(values[i]!, shape.slice(), dtype), shape: shape.slice(), dtype });
    }
    const request = planRequest(feeds, fetches);
    await builder(
      {
        label: program.label,
        backend,
        program,
        bind: () => ({ request, inputs: copies }),
        declaredInputs: () => [],
      },
      { ...options, inputs: [[]] },
    );
  } finally {
    for (const { dataId } of copies) backend.disposeData(dataId);
  }
}
