import type {
  DataType,
  KernelConfig,
  KernelFunc,
  NamedAttrMap,
  NamedTensorInfoMap,
  TensorInfo,
} from '@tensorflow/tfjs-core';
import { tfDataTypeName, toTFDataType } from '../../dtypes';
import type { TftrtBackend } from '../backend';

/** The name of the backend, for registrations. */
export const BACKEND_NAME = 'tftrt';

// biome-ignore lint/suspicious/noExplicitAny: each kernel has its own attributes; rows narrow them where they read them.
type Attrs = any;
// biome-ignore lint/suspicious/noExplicitAny: likewise for inputs, some of which are lists of tensors.
type Inputs = any;

/** An operand of the TensorFlow op: a tfjs input by name, a list of them, or a constant made from tfjs attributes. */
export type Operand =
  | string
  | { readonly list: (inputs: Inputs) => TensorInfo[] }
  | {
      readonly constant: (attrs: Attrs, inputs: Inputs) => readonly number[];
      readonly dtype: 'int32' | 'float32';
      readonly scalar: boolean;
    };

/** An attribute of the TensorFlow op: its kind in tensorflow.AttrValue, and how its value follows from the tfjs call. */
export interface Attribute {
  readonly kind: 'int' | 'float' | 'bool' | 'string' | 'type' | 'shape' | 'ints' | 'floats' | 'types';
  readonly value: (attrs: Attrs, inputs: Inputs) => unknown;
}

/** A tfjs kernel that is one TensorFlow op. */
export interface OpRow {
  readonly kernel: string;
  readonly op: string;
  readonly operands: readonly Operand[];
  /** Attributes other than the operands' dtypes, which TensorFlow infers. */
  readonly attributes: Readonly<Record<string, Attribute>>;
  /** Whether the kernel returns a list of tensors; the default is the op's first output. */
  readonly returnsList: boolean;
}

/** A tfjs kernel that is more, or less, than one TensorFlow op. */
export interface FunctionRow {
  readonly kernel: string;
  readonly run: (call: { inputs: Inputs; attrs: Attrs; backend: TftrtBackend }) => TensorInfo | TensorInfo[];
}

export type KernelRow = OpRow | FunctionRow;

/** A row for a kernel that is one TensorFlow op. */
export function op(
  kernel: string,
  tfOp: string,
  operands: readonly Operand[],
  attributes: Readonly<Record<string, Attribute>> = {},
  returnsList = false,
): OpRow {
  return { kernel, op: tfOp, operands, attributes, returnsList };
}

/** A row for a kernel that is a function of its own. */
export function custom(kernel: string, run: FunctionRow['run']): FunctionRow {
  return { kernel, run };
}

export const constant = (
  values: (attrs: Attrs, inputs: Inputs) => readonly number[],
  dtype: 'int32' | 'float32' = 'int32',
): Operand => ({ constant: values, dtype, scalar: false });
export const scalar = (
  value: (attrs: Attrs, inputs: Inputs) => number,
  dtype: 'int32' | 'float32' = 'int32',
): Operand => ({ constant: (attrs, inputs) => [value(attrs, inputs)], dtype, scalar: true });

const attribute =
  (kind: Attribute['kind']) =>
  (value: (attrs: Attrs, inputs: Inputs) => unknown): Attribute => ({ kind, value });
export const int = attribute('int');
export const float = attribute('float');
export const bool = attribute('bool');
export const str = attribute('string');
/** The value is a tfjs dtype. */
export const type = attribute('type');
export const ints = attribute('ints');
export const floats = attribute('floats');

/** The tfjs registration of a row. */
export function toKernelConfig(row: KernelRow): KernelConfig {
  const kernelFunc = 'run' in row ? functionKernel(row) : opKernel(row);
  return { kernelName: row.kernel, backendName: BACKEND_NAME, kernelFunc };
}

function functionKernel(row: FunctionRow): KernelFunc {
  return ({ inputs, attrs, backend }) => row.run({ inputs, attrs, backend: backend as TftrtBackend });
}

function opKernel(row: OpRow): KernelFunc {
  const { operands, returnsList } = row;
  const opId = opInterner(row);
  return ({ inputs, attrs, backend: anyBackend }) => {
    const backend = anyBackend as TftrtBackend;
    const id = opId(backend, attrs, inputs);
    const handles: number[] = [];
    for (const operand of operands) {
      if (typeof operand === 'string') {
        handles.push(backend.handle(inputs[operand] as TensorInfo));
      } else if ('list' in operand) {
        for (const info of operand.list(inputs)) handles.push(backend.handle(info));
      } else {
        const values = operand.constant(attrs, inputs);
        handles.push(backend.constants.get(values, operand.dtype, operand.scalar ? [] : [values.length]));
      }
    }
    return returnsList ? backend.executeList(id, handles) : backend.execute(id, handles);
  };
}

/** Op ids by the values of the row's attributes. They belong to the thread's addon, so they hang on the backend. */
function opInterner(
  row: OpRow,
): (backend: TftrtBackend, attrs?: NamedAttrMap, inputs?: NamedTensorInfoMap) => number {
  const attributes = Object.entries(row.attributes);
  if (attributes.length === 0) return (backend) => backend.opId(row.op, row.op, noAttributes);
  return (backend, attrs, inputs) => {
    let key = row.op;
    const values: unknown[] = [];
    for (const [, { value }] of attributes) {
      const current = value(attrs, inputs);
      values.push(current);
      key += `;${current}`;
    }
    return backend.opId(key, row.op, () =>
      Object.fromEntries(attributes.map(([name, { kind }], i) => [name, toAttrValue(kind, values[i])])),
    );
  };
}

const noAttributes = () => ({});

/** A tensorflow.AttrValue in JSON. */
export function toAttrValue(kind: Attribute['kind'], value: unknown): Record<string, unknown> {
  const numbers = value as number[];
  switch (kind) {
    case 'int':
      return { i: String(value) };
    case 'float':
      return { f: Number.isFinite(value) ? value : String(value) };
    case 'bool':
      return { b: value };
    case 'string':
      return { s: Buffer.from(value as string).toString('base64') };
    case 'type':
      return { type: tfDataTypeName(toTFDataType(value as DataType)) };
    case 'shape':
      return { shape: { dim: numbers.map((size) => ({ size: String(size) })) } };
    case 'ints':
      return { list: { i: numbers.map(String) } };
    case 'floats':
      return { list: { f: numbers } };
    case 'types':
      return { list: { type: (value as DataType[]).map((dtype) => tfDataTypeName(toTFDataType(dtype))) } };
  }
}
