import { type DataType, type TensorInfo, util } from '@tensorflow/tfjs-core';
import { DT, fromTFDataType, toTFDataType } from '../../dtypes';
import type { Handle } from '../../native';
import type { TftrtBackend } from '../backend';
import type { ConstantDType } from '../constants';
import { type Attributes, DTYPE_NUMBERS, type DTypeName } from '../op_attributes';
import type { Attrs, Inputs } from './table';

/** A tensor within a kernel call: an input, a constant or an intermediate result, which need not have a dtype of tfjs. */
export interface Value {
  readonly handle: Handle;
  readonly shape: number[];
  /** TensorFlow's number. */
  readonly dtype: number;
}

/** What ops take: tfjs inputs and values of this call. */
export type CallOperand = TensorInfo | Value;

/**
 * One call of a kernel that is written as a function: runs TensorFlow ops one after another, and releases what is not returned
 * when the call ends.
 */
export class KernelCall {
  private readonly owned = new Set<Value>();

  constructor(
    readonly inputs: Inputs,
    readonly attrs: Attrs,
    readonly backend: TftrtBackend,
  ) {}

  get onGpu(): boolean {
    return this.backend.runtime.onGpu;
  }

  /** Runs an op; its first output. */
  run(op: string, operands: readonly CallOperand[], attributes?: Attributes): Value {
    const { backend } = this;
    const count = backend.call(backend.ops.id(op, attributes), this.handles(operands));
    if (count > 1) backend.dropOthers(count);
    return this.valueAt(0);
  }

  /** Runs an op; all its outputs. */
  runAll(op: string, operands: readonly CallOperand[], attributes?: Attributes, outputs?: number): Value[] {
    const { backend } = this;
    const count = backend.call(backend.ops.id(op, attributes), this.handles(operands), outputs);
    const { commands } = backend.runtime;
    const values: Value[] = [];
    for (let i = 0, position = 0; i < count; i++, position += 3 + commands[position + 2]!) {
      values.push(this.valueAt(position));
    }
    return values;
  }

  /** The operand in another dtype; itself where it has that one. */
  cast(operand: CallOperand, dtype: DTypeName): CallOperand {
    return dtypeOf(operand) === DTYPE_NUMBERS[dtype] ? operand : this.run('Cast', [operand], { DstT: dtype });
  }

  /** The operand under another shape: no copy. */
  reshape(operand: CallOperand, shape: number[]): CallOperand {
    if (util.arraysEqual(operand.shape, shape)) return operand;
    if ('dataId' in operand) return { dataId: operand.dataId, shape, dtype: operand.dtype };
    const { runtime } = this.backend;
    for (let i = 0; i < shape.length; i++) runtime.commands[i] = shape[i]!;
    return this.own({
      handle: runtime.addon.reshapeTensor(operand.handle, shape.length),
      shape,
      dtype: operand.dtype,
    });
  }

  /** Element by element `a` where the condition holds, else `b`. What needs no broadcast takes TensorFlow half the time in its older op. */
  select(condition: CallOperand, a: CallOperand, b: CallOperand): Value {
    const alike = [a, b].every(({ shape }) => util.arraysEqual(shape, condition.shape));
    return this.run(alike ? 'Select' : 'SelectV2', [condition, a, b]);
  }

  transpose(operand: CallOperand, permutation: readonly number[]): Value {
    return this.run('Transpose', [operand, this.constant(permutation)]);
  }

  /** A constant tensor; one-dimensional unless a shape is given. */
  constant(
    values: readonly number[],
    dtype: ConstantDType = 'int32',
    shape: number[] = [values.length],
  ): Value {
    return {
      handle: this.backend.constants.get(values, dtype, shape),
      shape,
      dtype: DTYPE_NUMBERS[dtype],
    };
  }

  /** A constant of rank 0. */
  scalar(value: number, dtype: ConstantDType = 'int32'): Value {
    return this.constant([value], dtype, []);
  }

  /** A constant string, or bytes, of rank 0. */
  string(text: string | Uint8Array): Value {
    const bytes = typeof text === 'string' ? util.encodeString(text) : text;
    const handle = this.backend.runtime.addon.createStringTensor(0, [bytes]);
    return this.own({ handle, shape: [], dtype: DT.STRING });
  }

  /** A tensor of values that are unlikely to come again, which is not kept for the next call. */
  tensor(values: ArrayBufferView, shape: number[], dtype: Exclude<DTypeName, 'string'>): Value {
    const number = DTYPE_NUMBERS[dtype];
    this.backend.writeShape(shape);
    const handle = this.backend.runtime.addon.createTensor(number, shape.length, values);
    return this.own({ handle, shape, dtype: number });
  }

  /** A tensor made from values on the host. */
  write(values: Int32Array | Float32Array | Uint8Array, shape: number[], dtype: DataType): TensorInfo {
    return { dataId: this.backend.write(values, shape, dtype), shape, dtype };
  }

  /**
   * What the kernel returns: the operand's values, in a dtype (by default its own, or the one of tfjs nearest to it) and a shape
   * (by default its own).
   */
  result(operand: CallOperand, dtype?: DataType, shape: number[] = operand.shape): TensorInfo {
    const number = dtypeOf(operand);
    const wanted = dtype ?? nearestDType(number);
    const value = this.castToResult(operand, wanted);
    if ('dataId' in value) return this.backend.alias(value, shape);
    this.owned.delete(value);
    const info = this.backend.adopt(value.handle, value.shape, wanted);
    return util.arraysEqual(shape, value.shape) ? info : { dataId: info.dataId, shape, dtype: wanted };
  }

  /** tfjs truncates what becomes a bool; TensorFlow's cast asks whether it differs from 0. */
  private castToResult(operand: CallOperand, dtype: DataType): CallOperand {
    const number = dtypeOf(operand);
    if (dtype === 'bool' && (number === DT.FLOAT || number === DT.DOUBLE)) {
      return this.cast(this.cast(operand, 'int32'), 'bool');
    }
    return this.cast(operand, dtype);
  }

  /** Ends the call: releases all intermediate results. */
  end(): void {
    const { addon } = this.backend.runtime;
    for (const { handle } of this.owned) addon.releaseTensor(handle);
    this.backend.endCall();
  }

  private handles(operands: readonly CallOperand[]): Handle[] {
    return operands.map((operand) => ('dataId' in operand ? this.backend.handle(operand) : operand.handle));
  }

  private valueAt(position: number): Value {
    const { commands } = this.backend.runtime;
    const start = position + 3;
    const shape = Array.from(commands.subarray(start, start + commands[position + 2]!));
    return this.own({ handle: commands[position]!, shape, dtype: commands[position + 1]! });
  }

  private own(value: Value): Value {
    this.owned.add(value);
    return value;
  }
}

/** TensorFlow's number of an operand's dtype. */
export function dtypeOf(operand: CallOperand): number {
  return 'dataId' in operand ? toTFDataType(operand.dtype) : operand.dtype;
}

function nearestDType(number: number): DataType {
  switch (number) {
    case DT.INT64:
      return 'int32';
    case DT.DOUBLE:
      return 'float32';
    default:
      return fromTFDataType(number);
  }
}
