import { DT } from '../dtypes';
import type { Handle, NativeRuntime } from '../native';

/** Longer arrays are unlikely to come again. */
const MAX_LENGTH = 64;
const MAX_ENTRIES = 2048;

const ARRAYS = { int32: Int32Array, float32: Float32Array } as const;
const DTYPES = { int32: DT.INT32, float32: DT.FLOAT } as const;

/** Small host tensors that ops take as operands where tfjs has attributes (axes, shapes, paddings), kept for the next call. */
export class Constants {
  private readonly handles = new Map<string, Handle>();
  /** Too long to keep: released by the next call of `release`. */
  private transient: Handle[] = [];

  constructor(private readonly runtime: NativeRuntime) {}

  get size(): number {
    return this.handles.size;
  }

  /** The handle of a tensor of this shape with these values. Valid until `release`. */
  get(
    values: readonly number[],
    dtype: keyof typeof ARRAYS = 'int32',
    shape: readonly number[] = [values.length],
  ): Handle {
    const key = `${dtype};${shape.join()};${values.join()}`;
    const known = this.handles.get(key);
    if (known !== undefined) return known;
    const { addon, commands } = this.runtime;
    shape.forEach((size, i) => {
      commands[i] = size;
    });
    const handle = addon.createTensor(DTYPES[dtype], shape.length, ARRAYS[dtype].from(values));
    if (values.length > MAX_LENGTH) {
      this.transient.push(handle);
    } else {
      if (this.handles.size >= MAX_ENTRIES) this.evictOldest();
      this.handles.set(key, handle);
    }
    return handle;
  }

  /** Ends the life of constants that are not worth keeping; call it after the op that used them. */
  release(): void {
    if (this.transient.length === 0) return;
    for (const handle of this.transient) this.runtime.addon.releaseTensor(handle);
    this.transient = [];
  }

  dispose(): void {
    this.release();
    for (const handle of this.handles.values()) this.runtime.addon.releaseTensor(handle);
    this.handles.clear();
  }

  /** A Map iterates in order of insertion. The oldest entry is transient from now on: an op being set up may use it. */
  private evictOldest(): void {
    const [[key, handle]] = this.handles as unknown as [[string, Handle]];
    this.handles.delete(key);
    this.transient.push(handle);
  }
}
