import type { NativeRuntime } from '../../native';
import type { GraphDef } from '../../program/graph_def';
import { TFJS_ONLY_OPS } from './rewrite';
import type { GraphExecutor, GraphModelInternals } from './types';

/** The model's ops that only JavaScript can run: those that users registered, and those that TensorFlow does not have. */
export function opsForJavaScript(model: GraphModelInternals, runtime: NativeRuntime): string[] {
  const { modelTopology } = model.artifacts!;
  const functions = new Set(functionsOf(modelTopology).map(({ signature }) => signature.name));
  const registered = registeredOps(model.executor!);
  return opsOfModel(model).filter((op) => {
    if (registered.has(op)) return true;
    return !TFJS_ONLY_OPS.has(op) && !functions.has(op) && runtime.addon.opDefinition(op) === undefined;
  });
}

/** The ops of the model, its functions and its initializer, each once. */
export function opsOfModel(model: GraphModelInternals): string[] {
  const { modelTopology, modelInitializer } = model.artifacts!;
  const ops = [...opsOf(modelTopology), ...(modelInitializer === undefined ? [] : opsOf(modelInitializer))];
  return [...new Set(ops)];
}

function opsOf(graph: GraphDef): string[] {
  const bodies = functionsOf(graph).flatMap(({ nodeDef }) => nodeDef ?? []);
  return [...graph.node, ...bodies].map(({ op }) => op);
}

function functionsOf(graph: GraphDef) {
  return graph.library?.function ?? [];
}

/** Ops of the model that were registered with `tf.registerOp` when it was loaded; they come before tfjs's own. */
function registeredOps(executor: GraphExecutor): Set<string> {
  const graphs = [executor.graph, ...Object.values(executor.graph.functions ?? {})];
  const nodes = graphs.flatMap((graph) => Object.values(graph.nodes));
  return new Set(nodes.filter(({ category }) => category === 'custom').map(({ op }) => op));
}
