import { types } from 'node:util';
import { TftrtError } from '../errors';
import type { NativeRuntime } from '../native';
import { type ModelSignature, type TensorInfoJson, toEndpoint } from './signature';

/** What the addon tells of a serialized GraphDef. */
export interface GraphDefEndpoints extends ModelSignature {
  /** How many TRTEngineOp nodes the outputs need. */
  readonly engines: number;
}

/**
 * Inputs and outputs of a serialized GraphDef, under the names that were asked for, or those of the Placeholders. Throws what
 * native/graph_def.h lists, naming the graph.
 */
export async function readEndpoints(
  runtime: NativeRuntime,
  label: string,
  graphDef: Uint8Array,
  inputs: string[],
  outputs: string[],
): Promise<GraphDefEndpoints> {
  let json: string;
  try {
    json = await runtime.addon.describeGraphDef(graphDef, inputs, outputs);
  } catch (error) {
    if (!(error instanceof TftrtError)) throw error;
    throw new TftrtError(error.code, `The graph ${label} cannot be used: ${error.message}.`, {
      cause: error,
    });
  }
  const found = JSON.parse(json) as {
    inputs: TensorInfoJson[];
    outputs: TensorInfoJson[];
    engines: number;
  };
  const owner = `The graph ${label}`;
  return {
    inputs: found.inputs.map((info, i) => toEndpoint(owner, inputs[i] ?? nodeOf(info.name!), info)),
    outputs: found.outputs.map((info, i) => toEndpoint(owner, outputs[i]!, info)),
    engines: found.engines,
  };
}

/** Throws unless it is bytes. */
export function requireGraphDef(caller: string, graphDef: unknown): asserts graphDef is Uint8Array {
  if (types.isUint8Array(graphDef)) return;
  throw new TftrtError(
    'TFTRT_INVALID_ARGUMENT',
    `${caller}: the graph is ${graphDef === null ? 'null' : typeof graphDef}; expected the bytes of a serialized GraphDef as Uint8Array.`,
  );
}

/** Throws unless it is a list of so many different names. */
export function requireNames(caller: string, what: string, names: unknown, least: number): void {
  const valid =
    Array.isArray(names) &&
    names.length >= least &&
    names.every((name) => typeof name === 'string' && name !== '') &&
    new Set(names).size === names.length;
  if (valid) return;
  throw new TftrtError(
    'TFTRT_INVALID_ARGUMENT',
    `${caller}: ${what} is ${JSON.stringify(names)}; expected an array of ${least > 0 ? 'one or more ' : ''}different names of tensors, 'node' or 'node:index'.`,
  );
}

function nodeOf(tensor: string): string {
  return tensor.replace(/:0$/, '');
}
