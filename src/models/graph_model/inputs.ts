import type { NamedTensorMap, Tensor } from '@tensorflow/tfjs-core';
import type { GraphModelInternals, ModelInputs } from './types';

/**
 * The inputs by name, as GraphModel.normalizeInputs makes them, without the model's tables: those are nodes of the
 * Program, and its initializer graph never runs in JavaScript.
 */
export function normalizeInputs(model: GraphModelInternals, inputs: ModelInputs): NamedTensorMap {
  const captured = Object.values(model.signature?.inputs ?? {}).filter(
    ({ resourceId }) => resourceId != null,
  );
  // A stand-in for the tables lets the model's own method count and order the others.
  const table = {} as Tensor;
  const stand = Object.create(model as object, {
    resourceIdToCapturedInput: {
      value: Object.fromEntries(captured.map(({ resourceId }) => [resourceId, table])),
    },
  }) as GraphModelInternals;
  const isMap = !Array.isArray(inputs) && !isTensor(inputs);
  const named = model.normalizeInputs.call(stand, isMap ? { ...(inputs as NamedTensorMap) } : inputs);
  if (captured.length === 0) return named;
  return Object.fromEntries(Object.entries(named).filter(([, tensor]) => tensor !== table));
}

function isTensor(inputs: ModelInputs): inputs is Tensor {
  return typeof inputs === 'object' && inputs !== null && 'dataId' in inputs;
}
