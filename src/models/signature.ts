import type { DataType } from '@tensorflow/tfjs-core';
import { TftrtError } from '../errors';

/** An input or output of a signature. */
export interface SignatureEndpoint {
  /** Its name in the signature. */
  readonly name: string;
  /** The graph's tensor, `node:index`. */
  readonly tensor: string;
  /** Its dtype in the graph, `DT_INT64` for one. */
  readonly tfDtype: string;
  /** Its dtype in JavaScript; values are cast at the boundary. */
  readonly dtype: DataType;
  /** −1 for dimensions of any size; null when even the rank is open. */
  readonly shape: number[] | null;
}

/** Inputs and outputs in the order in which a list of tensors binds to them. */
export interface ModelSignature {
  readonly inputs: SignatureEndpoint[];
  readonly outputs: SignatureEndpoint[];
}

/** tensorflow.TensorInfo in JSON, as far as it is read. */
export interface TensorInfoJson {
  name?: string;
  dtype?: string;
  tensorShape?: { dim?: Array<{ size?: string }>; unknownRank?: boolean };
  [encoding: string]: unknown;
}

interface SignatureDefJson {
  inputs?: Record<string, TensorInfoJson>;
  outputs?: Record<string, TensorInfoJson>;
}

/** TensorFlow's own entry: it names the op that restores the variables. */
const INIT_SIGNATURE = '__saved_model_init_op';

/** tensorflow.SignatureDef in JSON by name. */
export type SignaturesJson = Record<string, unknown>;

/** The names of signatures, in alphabetical order. */
export function signatureNames(json: SignaturesJson): string[] {
  return Object.keys(json)
    .filter((name) => name !== INIT_SIGNATURE)
    .sort();
}

/**
 * Reads one signature, undefined where there is none of that name; inputs and outputs come in alphabetical order of their names.
 * Throws `TFTRT_UNSUPPORTED_DTYPE` for one that has tensors which JavaScript has none of; others of the model do no harm.
 */
export function parseSignature(json: SignaturesJson, name: string): ModelSignature | undefined {
  if (!signatureNames(json).includes(name)) return undefined;
  const { inputs = {}, outputs = {} } = json[name] as SignatureDefJson;
  return { inputs: endpoints(name, inputs), outputs: endpoints(name, outputs) };
}

/** In alphabetical order of the names. */
function endpoints(signature: string, infos: Record<string, TensorInfoJson>): SignatureEndpoint[] {
  return Object.keys(infos)
    .sort()
    .map((name) => toEndpoint(`The signature '${signature}'`, name, infos[name]!));
}

/** `owner` begins the message of an error. */
export function toEndpoint(owner: string, name: string, info: TensorInfoJson): SignatureEndpoint {
  const { name: tensor, dtype: tfDtype = 'DT_INVALID', tensorShape = {} } = info;
  const dtype = jsDtype(tfDtype);
  if (tensor === undefined || dtype === undefined) {
    throw new TftrtError(
      'TFTRT_UNSUPPORTED_DTYPE',
      `${owner} has the entry '${name}' of ${tensor === undefined ? 'a sparse or composite tensor' : tfDtype}, which TensorFlow.js has no tensors of. Export dense tensors.`,
    );
  }
  const dims = tensorShape.dim ?? [];
  const shape = tensorShape.unknownRank ? null : dims.map(({ size }) => Number(size ?? 0));
  return { name, tensor, tfDtype, dtype, shape };
}

/** As native/boundary.cc casts. */
function jsDtype(tfDtype: string): DataType | undefined {
  switch (tfDtype) {
    case 'DT_FLOAT':
    case 'DT_HALF':
    case 'DT_BFLOAT16':
    case 'DT_DOUBLE':
      return 'float32';
    case 'DT_INT8':
    case 'DT_INT16':
    case 'DT_INT32':
    case 'DT_INT64':
    case 'DT_UINT8':
    case 'DT_UINT16':
    case 'DT_UINT32':
    case 'DT_UINT64':
      return 'int32';
    case 'DT_BOOL':
      return 'bool';
    case 'DT_STRING':
      return 'string';
    case 'DT_COMPLEX64':
    case 'DT_COMPLEX128':
      return 'complex64';
    default:
      return undefined;
  }
}
