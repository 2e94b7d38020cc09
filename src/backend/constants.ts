import type { Handle, NativeRuntime } from '../native';
import { MAX_INT32, sizeError } from './limits';
import { DTYPE_NUMBERS, type DTypeName } from './op_attributes';

/** Longer arrays are unlikely to come again. */
const MAX_LENGTH = 64;
const MAX_ENTRIES = 2048;

export type ConstantDType = Exclude<DTypeName, 'string' | 'uint8'>;

const VALUES: Record<ConstantDType, (values: readonly number[]) => ArrayBufferView> = {
  int32: (values) => Int32Array.from(values),
  float32: (values) => Float32Array.from(values),
  float64: (values) => Float64Array.from(values),
  int64: (values) => BigInt64Array.from(values, BigInt),
  bool: (values) => Uint8Array.from(values),
  complex64: (values) => Float32Array.from(values.flatMap((real) => [real, 0])),
};

/** Small host tensors that ops take as operands where tfjs has attributes (axes, shapes, paddings), kept for the next call. */
export class Constants {
  private readonly handles = new Map<string, Handle>();
  /** Not to be kept: released by the next call of `release`. */
  private transient: Handle[] = [];

  constructor(private readonly runtime: NativeRuntime) {}

  /** The handle of a tensor of this shape with these values. Valid until `release`. */
  get(
    values: readonly number[],
    dtype: ConstantDType = 'int32',
    shape: readonly number[] = [values.length],
  ): Handle {
    const key = `${dtype};${shape.join()};${values.join()}`;
    const known = this.handles.get(key);
    if (known !== undefined) return known;
    if (dtype === 'int32' && values.some((value) => Math.abs(value) > MAX_INT32 + 1)) {
      throw sizeError(`An operand [${values}]`);
    }
    const { addon, commands } = this.runtime;
    for (let i = 0; i < shape.length; i++) commands[i] = shape[i]!;
    const handle = addon.createTensor(DTYPE_NUMBERS[dtype], shape.length, VALUES[dtype](values));
    // Joined, -0 looks like 0.
    if (values.length > MAX_LENGTH || values.some((value) => Object.is(value, -0))) {
      this.transient.push(handle);
    } else {
      if (this.handles.size >= MAX_ENTRIES) this.evictOldest();
      this.handles.set(key, handle);
      this.runtime.keptConstants = this.handles.size;
    }
    return handle;
  }

  /** Ends the life of constants that are not worth keeping; call it after the ops that used them. */
  release(): void {
    if (this.transient.length === 0) return;
    for (const handle of this.transient) this.runtime.addon.releaseTensor(handle);
    this.transient = [];
  }

  dispose(): void {
    this.release();
    for (const handle of this.handles.values()) this.runtime.addon.releaseTensor(handle);
    this.handles.clear();
    this.runtime.keptConstants = 0;
  }

  /** A Map iterates in order of insertion. The oldest entry is transient from now on: an op being set up may use it. */
  private evictOldest(): void {
    const [[key, handle]] = this.handles as unknown as [[string, Handle]];
    this.handles.delete(key);
    this.transient.push(handle);
  }
}
