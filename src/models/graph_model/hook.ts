import { env, getBackend, Tensor } from '@tensorflow/tfjs-core';
import { activeDevice, tftrtBackend } from '../../backend/active';
import { deviceOfBackend } from '../../backend/names';
import { disposedModel, TftrtError } from '../../errors';
import { labelOf } from './label';
import { GraphModelPlan } from './plan';
import { opsForJavaScript, opsOfModel } from './support';
import type { GraphModelInternals, ModelInputs } from './types';

/** Whether graph models run as one callable; `tf.env().set('TFTRT_GRAPH_MODEL', false)` gives tfjs's executor back. */
export const GRAPH_MODEL_FLAG = 'TFTRT_GRAPH_MODEL';

const HOOKED = Symbol.for('tfjs-backend-tftrt.graphModelHooked');

interface GraphModelPrototype {
  execute(inputs: ModelInputs, outputs?: string | string[]): unknown;
  executeAsync(inputs: ModelInputs, outputs?: string | string[]): Promise<unknown>;
  dispose(): void;
  [HOOKED]?: boolean;
}

/** Plans by the number of their device; or 'javascript' for a model that only tfjs's executor can run; or 'disposed'. */
const plans = new WeakMap<GraphModelInternals, GraphModelPlan[] | 'javascript' | 'disposed'>();

/**
 * Has `execute` and `executeAsync` of tfjs-converter's GraphModel (and so `predict` and `predictAsync`) run the whole graph
 * in TensorFlow while `tftrt` is the active backend. Models that were loaded before, under another backend, too.
 */
export function hookGraphModel(prototype: object): void {
  const hooked = prototype as GraphModelPrototype;
  if (hooked[HOOKED]) return;
  const { execute, executeAsync, dispose } = hooked;
  hooked[HOOKED] = true;

  hooked.execute = function (this: GraphModelInternals, inputs, outputs) {
    const plan = planOf(this, inputs);
    return plan === undefined ? execute.call(this as never, inputs, outputs) : plan.execute(inputs, outputs);
  } as GraphModelPrototype['execute'];

  hooked.executeAsync = async function (this: GraphModelInternals, inputs, outputs) {
    const plan = planOf(this, inputs);
    return plan === undefined
      ? executeAsync.call(this as never, inputs, outputs)
      : plan.executeAsync(inputs, outputs);
  } as GraphModelPrototype['executeAsync'];

  hooked.dispose = function (this: GraphModelInternals) {
    const known = plans.get(this);
    if (Array.isArray(known)) for (const plan of known) plan?.dispose();
    plans.set(this, 'disposed');
    dispose.call(this as never);
  } as GraphModelPrototype['dispose'];
}

/** The plan of a model that the hook runs. Throws where only JavaScript can run it. */
export function planToBuild(model: GraphModelInternals): GraphModelPlan {
  const device = activeDevice();
  const known = plans.get(model);
  if (known === 'disposed') throw disposedModel(labelOf(model));
  const plan = known === 'javascript' ? undefined : (known?.[device] ?? makePlan(model, device));
  if (plan !== undefined) return plan;
  throw new TftrtError(
    'TFTRT_NOT_A_GRAPH',
    `The model ${labelOf(model)} cannot be built: it runs op by op in TensorFlow.js's own executor, because it is not loaded, ` +
      `has ops of tf.registerOp, or the flag ${GRAPH_MODEL_FLAG} is off.`,
  );
}

function planOf(model: GraphModelInternals, inputs: ModelInputs): GraphModelPlan | undefined {
  const device = deviceOfBackend(getBackend());
  if (device === undefined || (hasEmptyTensor(inputs) && hasConvolutions(model))) return undefined;
  const known = plans.get(model);
  if (known === 'disposed') throw disposedModel(labelOf(model));
  if (known === 'javascript') return undefined;
  const plan = known?.[device];
  if (plan === undefined) return makePlan(model, device);
  return wanted() ? plan : undefined;
}

function hasEmptyTensor(inputs: ModelInputs): boolean {
  const tensors = Array.isArray(inputs)
    ? inputs
    : inputs instanceof Tensor
      ? [inputs]
      : Object.values(inputs ?? {});
  return tensors.some((tensor) => tensor?.size === 0);
}

const convolutions = new WeakMap<GraphModelInternals, boolean>();

/**
 * What oneDNN's kernels get wrong where it is empty: convolutions give an empty batch the shape of their input, which breaks the
 * ops after them. tfjs's executor runs such calls, which compute next to nothing.
 */
function hasConvolutions(model: GraphModelInternals): boolean {
  let known = convolutions.get(model);
  if (known === undefined) {
    known =
      model.artifacts !== undefined && opsOfModel(model).some((op) => /Conv|Pool|FusedMatMul/i.test(op));
    convolutions.set(model, known);
  }
  return known;
}

function makePlan(model: GraphModelInternals, device: number): GraphModelPlan | undefined {
  if (model.executor === undefined || model.artifacts === undefined || !wanted()) return undefined;
  const tftrt = tftrtBackend(device);
  const foreign = opsForJavaScript(model, tftrt.runtime);
  if (foreign.length > 0) {
    plans.set(model, 'javascript');
    console.warn(
      `tftrt: the model ${labelOf(model)} has ops that only JavaScript can run: ${foreign.join(', ')}. ` +
        "It runs op by op in TensorFlow.js's own executor, which is slower.",
    );
    return undefined;
  }
  const plan = new GraphModelPlan(model, tftrt);
  const known = plans.get(model);
  if (Array.isArray(known)) known[device] = plan;
  else plans.set(model, Object.assign([], { [device]: plan }));
  return plan;
}

function wanted(): boolean {
  return env().getBool(GRAPH_MODEL_FLAG) && !env().getBool('KEEP_INTERMEDIATE_TENSORS');
}

/** Registers the flag that turns the hook off. */
export function registerGraphModelFlag(): void {
  env().registerFlag(GRAPH_MODEL_FLAG, () => true);
}
