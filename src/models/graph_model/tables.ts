import type { GraphDef, NodeDef } from '../../program/graph_def';
import type { GraphModelInternals } from './types';

/** A graph with its hash tables in it, and the nodes that fill them. */
export interface MergedGraph {
  readonly graph: GraphDef;
  readonly initializers: string[];
}

/** Sets the initializer's nodes apart: the two graphs were named independently. */
const SCOPE = 'tftrt_initializer/';

/**
 * The converter splits a model with hash tables in two: the graph gets the tables through Placeholders of resources, and
 * an initializer graph makes and fills them. TensorFlow wants both in one session: the Placeholders give way to the
 * initializer's table nodes.
 */
export function mergeInitializer(model: GraphModelInternals): MergedGraph {
  const { modelTopology: graph, modelInitializer: initializer } = model.artifacts!;
  if (!initializer?.node?.length) return { graph, initializers: [] };

  const nodes = new Map(graph.node.map((node) => [node.name, node]));
  const names = new Map(initializer.node.map((node) => [node.name, mergedName(node, nodes)]));
  const added = initializer.node
    .filter(({ name }) => !nodes.has(names.get(name)!))
    .map((node) => renamed(node, names));
  const tables = tablesOfPlaceholders(model, names);
  const library = [...(graph.library?.function ?? []), ...(initializer.library?.function ?? [])];
  const byName = new Map(library.map((definition) => [definition.signature.name, definition]));
  return {
    graph: {
      ...graph,
      node: [
        ...graph.node.filter(({ name }) => !tables.has(name)).map((node) => renamed(node, tables)),
        ...added,
      ],
      library: { function: [...byName.values()] },
    },
    initializers: added.filter(fillsTable).map(({ name }) => name),
  };
}

/**
 * What an initializer's node is called in the merged graph. Constants keep their names, by which their weights are found,
 * and so do tables that the graph makes too (as older converters wrote it): it is the same table.
 */
function mergedName(node: NodeDef, graph: ReadonlyMap<string, NodeDef>): string {
  const isShared =
    node.op === 'Const' || (graph.get(node.name)?.op === node.op && node.op.startsWith('HashTable'));
  return isShared ? node.name : SCOPE + node.name;
}

/** For each Placeholder of a table: the node that makes the table. */
function tablesOfPlaceholders(
  model: GraphModelInternals,
  names: ReadonlyMap<string, string>,
): Map<string, string> {
  const outputs = Object.values(model.initializerSignature?.outputs ?? {});
  const tables = new Map<string, string>();
  for (const [name, { name: placeholder = name, resourceId }] of Object.entries(
    model.signature?.inputs ?? {},
  )) {
    if (resourceId == null) continue;
    const table = outputs.find((output) => output.resourceId === resourceId)?.name;
    const node = table === undefined ? undefined : names.get(nodeOf(table));
    if (node !== undefined) tables.set(nodeOf(placeholder), node);
  }
  return tables;
}

function fillsTable({ op }: NodeDef): boolean {
  return /^(LookupTableImport|InitializeTable)/.test(op);
}

/** The node under its new name, with the new names of its inputs. */
function renamed(node: NodeDef, names: ReadonlyMap<string, string>): NodeDef {
  const rename = (input: string) => {
    const [, control, name, index] = /^(\^?)(.*?)((?::\d+)?)$/.exec(input)!;
    return control! + (names.get(name!) ?? name) + index;
  };
  return {
    ...node,
    name: names.get(node.name) ?? node.name,
    ...(node.input === undefined ? {} : { input: node.input.map(rename) }),
  };
}

function nodeOf(tensor: string): string {
  return tensor.replace(/:\d+$/, '');
}
