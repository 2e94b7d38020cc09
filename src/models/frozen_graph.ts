import { activeDevice } from '../backend/active';
import { notLoaded, TftrtError } from '../errors';
import { nativeRuntime, requireTensorRt } from '../native';
import { requireOptions } from '../options';
import { Program } from '../program/program';
import type { Buildable } from '../tensorrt/context';
import { type GraphDefEndpoints, readEndpoints, requireGraphDef, requireNames } from './graph_def_endpoints';
import { SignatureModel } from './signature_model';

export interface FrozenGraphOptions {
  /** Names of the tensors to feed, `node` or `node:index`. Default: the Placeholders that the outputs need. */
  inputs?: string[];
  /** Names of the tensors to compute, `node` or `node:index`. */
  outputs: string[];
  /** What messages call the graph. */
  label?: string;
}

const OPTIONS: ReadonlySet<string> = new Set<keyof FrozenGraphOptions>(['inputs', 'outputs', 'label']);

/** A frozen GraphDef as one callable. Made by `loadFrozenGraph`. */
export class FrozenGraph extends SignatureModel {
  /** @internal */
  constructor(
    label: string,
    program: Program,
    private readonly endpoints: GraphDefEndpoints,
  ) {
    super(label, program, endpoints);
  }

  override async buildable(): Promise<Buildable> {
    if (this.endpoints.engines > 0) {
      throw new TftrtError(
        'TFTRT_INVALID_ARGUMENT',
        `build: the graph ${this.label} has TensorRT engines already; expected the graph that it was converted from.`,
      );
    }
    return super.buildable();
  }
}

/**
 * Loads a serialized tensorflow.GraphDef whose variables are constants (a frozen `.pb` file), off the event loop. Inputs and
 * outputs go by the names given here, or by those of the Placeholders. The bytes must not change as long as the model is
 * in use. A graph with TensorRT engines in it, as `createInferenceGraph` makes them, runs on a GPU.
 *
 * Errors: `TFTRT_INVALID_GRAPH_DEF`, `TFTRT_UNKNOWN_INPUT`, `TFTRT_UNKNOWN_OUTPUT`, `TFTRT_MISSING_INPUT` where a Placeholder
 * is needed and not among the inputs, `TFTRT_NOT_FROZEN`, `TFTRT_TENSORRT_UNAVAILABLE` for engines without a GPU.
 */
export async function loadFrozenGraph(
  graphDef: Uint8Array,
  options: FrozenGraphOptions,
): Promise<FrozenGraph> {
  requireOptions('loadFrozenGraph', options ?? {}, OPTIONS);
  const { inputs = [], outputs, label = '(a frozen graph from memory)' } = options ?? {};
  requireGraphDef('loadFrozenGraph', graphDef);
  requireNames('loadFrozenGraph', 'outputs', outputs, 1);
  requireNames('loadFrozenGraph', 'inputs', inputs, 0);
  if (typeof label !== 'string') {
    throw new TftrtError('TFTRT_INVALID_ARGUMENT', `loadFrozenGraph: label is ${label}; expected a string.`);
  }
  const runtime = nativeRuntime(activeDevice());
  const endpoints = await readEndpoints(runtime, label, graphDef, inputs, outputs);
  if (endpoints.engines > 0) {
    if (!runtime.onGpu) {
      throw new TftrtError(
        'TFTRT_TENSORRT_UNAVAILABLE',
        `The graph ${label} has ${endpoints.engines} TensorRT engines, which need an NVIDIA GPU; this process computes on ${runtime.deviceName}.`,
      );
    }
    requireTensorRt();
  }
  // Where an engine does not take a shape, its segment runs in TensorFlow, which a recording must not do.
  const fixed = endpoints.engines > 0 ? 'the graph has TensorRT engines of its own' : undefined;
  try {
    return new FrozenGraph(label, await Program.fromGraphDef(runtime, label, graphDef, fixed), endpoints);
  } catch (error) {
    throw notLoaded(`The graph ${label}`, error);
  }
}
