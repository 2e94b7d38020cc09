import path from 'node:path';
import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { TftrtBackend } from '../backend/backend';
import type { Handle } from '../native';
import { runnersDiffer } from '../program/compare';
import { placedOptions } from '../program/program';
import type { Request } from '../program/requests';
import { CallableRunner, type Runner } from '../program/runner';
import { nextTurn } from '../turn';
import type { Buildable, BuildContext } from './context';
import { forgetEngines } from './engine_cache';
import type { FoundEngines } from './engines';
import type { BuildProfile } from './profiles';
import type { ProfileReport } from './report';

const TIMED_RUNS = 20;

/** Loads engines, compares and times them against TensorFlow, and has them serve if they win. */
export async function serveEngines(
  context: BuildContext,
  profile: BuildProfile,
  request: Request,
  graph: Handle,
  { content, directory, fromCache }: FoundEngines,
): Promise<ProfileReport> {
  const { options, model } = context;
  const { backend, program } = model;
  const { runtime } = backend;
  const { addon } = runtime;
  const report = (
    rest: Pick<ProfileReport, 'serving' | 'reason'> & Partial<ProfileReport>,
  ): ProfileReport => ({
    shapes: profile.corners.min.map((_, i) =>
      profile.fixed
        ? [profile.corners.min[i]!]
        : [profile.corners.min[i]!, profile.corners.opt[i]!, profile.corners.max[i]!],
    ),
    engines: content.engines.map((engine) => ({ ...engine, fromCache })),
    native: content.native,
    tolerance: options.tolerance,
    captured: false,
    ...rest,
  });
  if (content.engines.length === 0) {
    return report({
      serving: 'tensorflow',
      reason: 'TensorRT can compute no part of the graph that is large enough',
      captureReason: 'TensorFlow serves',
    });
  }
  const names = content.engines.map(({ name }) => name);
  const { feeds, fetches, initializers } = addon.describeGraph(graph);
  context.tell('loading', 'loading the engines');
  // What is loaded here goes again, unless it serves in the end: then the tiers own it.
  const loaded: Array<() => void> = [];
  const dispose = () => {
    for (const release of loaded.splice(0).reverse()) release();
  };
  let serving = false;
  try {
    const load = (onArena: boolean) => addon.loadEngineProgram(directory, names, initializers, onArena);
    const loading = load(false);
    const [engines, onArena, tensorFlow] = await Promise.allSettled([
      loading,
      runtime.arenaName === '' ? undefined : load(true),
      reference(model, profile, request, loading),
    ]);
    for (const one of [engines, onArena]) {
      if (one.status === 'rejected' || one.value === undefined) continue;
      const { value } = one;
      loaded.push(() => addon.releaseProgram(value));
    }
    if (engines.status === 'rejected') {
      // Next time they are built anew.
      if (fromCache) forgetEngines(path.basename(directory));
      throw engines.reason;
    }
    if (tensorFlow.status === 'rejected') throw tensorFlow.reason;
    const handle = engines.value;
    const base = tensorFlow.value;
    // Without it, engines serve as a callable.
    const arena = onArena.status === 'fulfilled' ? onArena.value : undefined;
    const placed = placedOptions(runtime, handle, feeds, fetches);
    const callable = await addon.createCallable(true, handle, placed);
    loaded.push(() => addon.releaseCallable(callable));
    const runner = new CallableRunner('tensorrt', callable, fetches.length);
    context.tell('verifying', "comparing with TensorFlow's outputs");
    let difference = 0;
    for (const sample of profile.checks) {
      difference = Math.max(difference, await runnersDiffer(backend, base, runner, sample));
    }
    if (!(difference <= options.tolerance)) {
      return report({
        serving: 'tensorflow',
        reason: `the engines' outputs differ from TensorFlow's by ${difference.toPrecision(2)} of their largest value, more than the tolerance of ${options.tolerance}`,
        difference,
        captureReason: 'TensorFlow serves',
      });
    }
    const sample = profile.samples.at(-1)!;
    const tensorflow = await timeOf(backend, base, sample);
    const tensorrt = await timeOf(backend, runner, sample);
    const latencyMs = { tensorflow, tensorrt };
    if (tensorrt > tensorflow && !options.force) {
      return report({
        serving: 'tensorflow',
        reason: 'TensorFlow was faster',
        difference,
        latencyMs,
        captureReason: 'TensorFlow serves',
      });
    }
    const tiers = program.tiers(backend);
    tiers.addEngines(request.key, request.feeds, request.fetches, {
      ...profile.corners,
      runner,
      ...(arena === undefined ? {} : { arena: { program: arena, feeds, fetches } }),
      dispose,
    });
    serving = true;
    context.tell('capturing', 'recording CUDA graphs');
    const captureReason = await tiers.captureNow(request.key, request.feeds, request.fetches, sample);
    return report({
      serving: 'tensorrt',
      reason: 'right and faster',
      difference,
      latencyMs,
      captured: captureReason === undefined,
      ...(captureReason === undefined ? {} : { captureReason }),
    });
  } finally {
    if (!serving) dispose();
  }
}

/**
 * TensorFlow's way to run the model, after a first run, in which it chooses its algorithms. That waits until the engines have
 * their memory: TensorRT does not survive it where the run takes that first.
 */
async function reference(
  { backend, program }: Buildable,
  profile: BuildProfile,
  { feeds, fetches }: Request,
  loading: Promise<unknown>,
): Promise<Runner> {
  const runner = await program.baseAsync(feeds, fetches);
  await loading;
  for (const { dataId } of await runner.runAsync(backend, profile.checks[0]!)) backend.disposeData(dataId);
  return runner;
}

/** Median time of a run on the device, ms. */
async function timeOf(backend: TftrtBackend, runner: Runner, inputs: readonly TensorInfo[]): Promise<number> {
  const times: number[] = [];
  for (const input of inputs) backend.handle(input);
  for (let i = 0; i < TIMED_RUNS; i++) {
    await nextTurn();
    backend.runtime.addon.synchronize();
    const begun = performance.now();
    const outputs = runner.run(backend, inputs);
    backend.runtime.addon.synchronize();
    times.push(performance.now() - begun);
    for (const { dataId } of outputs) backend.disposeData(dataId);
  }
  return times.sort((a, b) => a - b)[TIMED_RUNS / 2]!;
}
