import type { GraphDef, NodeDef } from '../../program/graph_def';
import type { GraphModelInternals } from './types';

/** A graph with its hash tables in it, and the nodes that fill them. */
export interface MergedGraph {
  readonly graph: GraphDef;
  readonly initializers: string[];
}

/**
 * The converter splits a model with hash tables in two: the graph gets the tables through Placeholders of resources, and
 * an initializer graph makes and fills them. TensorFlow wants both in one session: the Placeholders give way to the
 * initializer's table nodes.
 */
export function mergeInitializer(model: GraphModelInternals): MergedGraph {
  const { modelTopology: graph, modelInitializer: initializer } = model.artifacts!;
  if (!initializer?.node?.length) return { graph, initializers: [] };

  const tableOfPlaceholder = new Map<string, string>();
  const outputs = Object.values(model.initializerSignature?.outputs ?? {});
  for (const [name, input] of Object.entries(model.signature?.inputs ?? {})) {
    if (input.resourceId == null) continue;
    const table = outputs.find(({ resourceId }) => resourceId === input.resourceId);
    if (table?.name != null) tableOfPlaceholder.set(nodeOf(input.name ?? name), nodeOf(table.name));
  }

  const present = new Set(graph.node.map(({ name }) => name));
  const added = initializer.node.filter(({ name }) => !present.has(name) && !tableOfPlaceholder.has(name));
  const kept = graph.node.filter(({ name }) => !tableOfPlaceholder.has(name));
  const rewired = kept.map((node) => ({
    ...node,
    ...(node.input === undefined
      ? {}
      : { input: node.input.map((input) => rewire(input, tableOfPlaceholder)) }),
  }));
  const library = [...(graph.library?.function ?? []), ...(initializer.library?.function ?? [])];
  const byName = new Map(library.map((definition) => [definition.signature.name, definition]));
  return {
    graph: { ...graph, node: [...rewired, ...added], library: { function: [...byName.values()] } },
    initializers: added.filter(fillsTable).map(({ name }) => name),
  };
}

function fillsTable({ op }: NodeDef): boolean {
  return /^(LookupTableImport|InitializeTable)/.test(op);
}

function rewire(input: string, tableOfPlaceholder: Map<string, string>): string {
  const isControl = input.startsWith('^');
  const table = tableOfPlaceholder.get(nodeOf(isControl ? input.slice(1) : input));
  if (table === undefined) return input;
  return isControl ? `^${table}` : table;
}

function nodeOf(tensor: string): string {
  return tensor.replace(/:\d+$/, '');
}
