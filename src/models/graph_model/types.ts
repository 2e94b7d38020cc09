import type { DataType, io, NamedTensorMap, Tensor } from '@tensorflow/tfjs-core';
import type { AttrValue, GraphDef } from '../../program/graph_def';

/** An entry of a converted model's signature; tables and other resources have a `resourceId`. */
export interface SignatureTensor {
  readonly name?: string;
  readonly dtype?: string;
  readonly resourceId?: number;
}

export interface Signature {
  readonly inputs?: Record<string, SignatureTensor>;
  readonly outputs?: Record<string, SignatureTensor>;
}

/** A node as tfjs-converter's executor has it. */
export interface ExecutorNode {
  readonly name: string;
  readonly op: string;
  readonly inputs: ExecutorNode[];
  /** `custom` for an op of `tf.registerOp`. */
  readonly category?: string;
  /** tensorflow.AttrValue in JSON, by name. */
  readonly rawAttrs?: Record<string, AttrValue>;
}

interface ExecutorGraph {
  readonly nodes: Record<string, ExecutorNode>;
  readonly functions?: Record<string, ExecutorGraph>;
}

/** The parts of tfjs-converter's GraphExecutor that hold its input and output checks. Private in its types. */
export interface GraphExecutor {
  readonly graph: ExecutorGraph;
  readonly weightMap: Record<string, Tensor[]>;
  mapInputs(inputs: NamedTensorMap): NamedTensorMap;
  checkInputs(inputs: NamedTensorMap): void;
  checkInputShapeAndType(inputs: NamedTensorMap): void;
  mapOutputs(outputs: string[]): string[];
  checkOutputs(outputs: string[]): void;
}

export type ModelInputs = Tensor | Tensor[] | NamedTensorMap;

/** The parts of tfjs-converter's GraphModel that the hook uses; most are private in its types. */
export interface GraphModelInternals {
  readonly modelUrl: unknown;
  readonly inputs: ReadonlyArray<{ name: string; shape?: number[]; dtype: DataType }>;
  readonly artifacts?: io.ModelArtifacts & {
    modelTopology: GraphDef;
    modelInitializer?: GraphDef;
  };
  readonly executor?: GraphExecutor;
  readonly initializer?: GraphExecutor;
  readonly initializerSignature?: Signature;
  readonly signature?: Signature;
  resourceIdToCapturedInput?: Record<number, Tensor>;
  normalizeInputs(inputs: ModelInputs): NamedTensorMap;
  normalizeOutputs(outputs?: string | string[]): string[];
}
