import type { DataType, TensorInfo } from '@tensorflow/tfjs-core';
import type { ConstantDType } from '../constants';
import type { AttributeValue, DTypeName } from '../op_attributes';
import type { KernelCall } from './call';

/** The name of the backend, for registrations. */
export const BACKEND_NAME = 'tftrt';

// biome-ignore lint/suspicious/noExplicitAny: each kernel has its own attributes; rows narrow them where they read them.
export type Attrs = any;
// biome-ignore lint/suspicious/noExplicitAny: likewise for inputs, some of which are lists of tensors.
export type Inputs = any;

/** What follows from one call of a kernel. */
export type Rule<T> = (attrs: Attrs, inputs: Inputs) => T;

/** An operand of the TensorFlow op: a tfjs input by name, a list of them, or a constant made from tfjs attributes. */
export type Operand =
  | string
  | { readonly list: (inputs: Inputs) => TensorInfo[] }
  | {
      readonly constant: Rule<readonly number[]>;
      readonly dtype: ConstantDType;
      readonly shape: Rule<readonly number[]> | undefined;
    };

/** How dtypes of tfjs and TensorFlow are brought together in an `OpRow`. */
export interface DTypeRule {
  /** Tensor operands of these dtypes are cast first: to where TensorFlow computes what tfjs expects. */
  readonly via?: Partial<Record<DataType, DTypeName>>;
  /**
   * The result's dtype: that of the first tensor operand (`input`, the default where `via` applied), whatever the op returns
   * (`computed`), or a fixed one.
   */
  readonly result?: 'input' | 'computed' | DataType;
}

/** A tfjs kernel that is one TensorFlow op. */
export interface OpRow extends DTypeRule {
  readonly kernel: string;
  readonly op: string;
  readonly operands: readonly Operand[];
  /** Attributes other than those that TensorFlow infers from the operands' dtypes. */
  readonly attributes: Readonly<Record<string, Rule<AttributeValue>>>;
  /** The number of results of a kernel that returns a list; others return the op's first output. */
  readonly outputs?: Rule<number>;
}

/** A tfjs kernel that is more, or less, than one TensorFlow op. */
export interface FunctionRow {
  readonly kernel: string;
  readonly run: (call: KernelCall) => TensorInfo | TensorInfo[];
}

export type KernelRow = OpRow | FunctionRow;

/** A row for a kernel that is one TensorFlow op. */
export function op(
  kernel: string,
  tfOp: string,
  operands: readonly Operand[],
  attributes: OpRow['attributes'] = {},
  options: DTypeRule & { readonly outputs?: Rule<number> } = {},
): OpRow {
  return { kernel, op: tfOp, operands, attributes, ...options };
}

/** A row for a kernel that is a function of its own. */
export function custom(kernel: string, run: FunctionRow['run']): FunctionRow {
  return { kernel, run };
}

/** A one-dimensional constant operand. */
export const constant = (values: Rule<readonly number[]>, dtype: ConstantDType = 'int32'): Operand => ({
  constant: values,
  dtype,
  shape: undefined,
});
/** A constant operand of rank 0. */
export const scalar = (value: Rule<number>, dtype: ConstantDType = 'int32'): Operand => ({
  constant: (attrs, inputs) => [value(attrs, inputs)],
  dtype,
  shape: () => [],
});
/** A constant operand of shape [n, 2] from pairs such as paddings. */
export const pairs = (value: Rule<ReadonlyArray<readonly number[]>>): Operand => ({
  constant: (attrs, inputs) => value(attrs, inputs).flat(),
  dtype: 'int32',
  shape: (attrs, inputs) => [value(attrs, inputs).length, 2],
});
/** All inputs of a kernel whose inputs are a list. */
export const allInputs: Operand = { list: (inputs) => inputs };
