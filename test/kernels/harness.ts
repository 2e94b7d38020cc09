import assert from 'node:assert/strict';
import '@tensorflow/tfjs-backend-cpu';
import {
  type BackendValues,
  type DataType,
  engine,
  getKernel,
  type KernelBackend,
  type NamedAttrMap,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import * as tftrt from 'tfjs-backend-tftrt';

/** A tensor to make on a backend. Complex numbers are real and imaginary parts in turn, bools are 0 and 1. */
export interface TensorSpec {
  readonly dtype: DataType;
  readonly shape: number[];
  readonly values: readonly number[] | readonly string[];
}

/** Inputs of a kernel: by name, some of them lists, or all of them one list. */
export type InputSpecs = Readonly<Record<string, TensorSpec | readonly TensorSpec[]>> | readonly TensorSpec[];

/** One call of a kernel. */
export interface KernelCase {
  readonly inputs: InputSpecs;
  readonly attrs?: object;
}

/** A tensor that a kernel returned. */
export interface Output {
  readonly dtype: DataType;
  readonly shape: number[];
  readonly values: readonly number[] | readonly string[];
}

const ARRAYS = { float32: Float32Array, int32: Int32Array, bool: Uint8Array, complex64: Float32Array };

/**
 * Runs a kernel on a backend as tfjs's engine would, but with any inputs: tfjs's ops would cast or refuse some of them. Fails if the
 * call leaves tensors behind.
 */
export function runKernel(
  backendName: 'tftrt' | 'cpu',
  kernel: string,
  { inputs, attrs = {} }: KernelCase,
): Output[] {
  const backend = engine().findBackend(backendName);
  const config = getKernel(kernel, backendName);
  assert.ok(config, `${backendName} has no kernel ${kernel}`);
  const before = census(backend, backendName);
  const { fallbacks } = tftrt.stats();
  const made: TensorInfo[] = [];
  const make = (spec: TensorSpec) => {
    const info = makeTensor(backend, backendName, spec);
    made.push(info);
    // Some of tfjs-backend-cpu's kernels want a tensor where they are given a TensorInfo.
    return { ...info, rank: spec.shape.length };
  };
  let results: TensorInfo[] = [];
  try {
    const result = config.kernelFunc({
      inputs: mapSpecs(inputs, make) as never,
      attrs: attrs as NamedAttrMap,
      backend,
    });
    results = Array.isArray(result) ? result : [result];
    assert.deepEqual(tftrt.stats().fallbacks, fallbacks, `TensorFlow did not compute ${kernel}`);
    return results.map(({ dataId, shape, dtype }) => ({
      dtype,
      shape,
      values: readable(backend.readSync(dataId), dtype),
    }));
  } finally {
    for (const { dataId } of [...results, ...made]) backend.disposeData(dataId);
    assert.deepEqual(census(backend, backendName), before, `${kernel} leaves tensors behind`);
  }
}

/** What is alive: data ids as tfjs counts them, and native tensors. */
function census(backend: KernelBackend, name: string): number[] {
  // The cpu backend's own kernels are not under test.
  return name === 'tftrt' ? [backend.numDataIds(), tftrt.stats().tensors] : [];
}

function makeTensor(backend: KernelBackend, name: string, { dtype, shape, values }: TensorSpec): TensorInfo {
  if (dtype === 'string') {
    const bytes = (values as string[]).map((text) => new TextEncoder().encode(text));
    return { dataId: backend.write(bytes, shape, dtype), shape, dtype };
  }
  const array = ARRAYS[dtype].from(values as number[]);
  if (dtype !== 'complex64' || name !== 'cpu') {
    return { dataId: backend.write(array as BackendValues, shape, dtype), shape, dtype };
  }
  // There, a complex tensor is two others.
  const part = (offset: 0 | 1): TensorInfo => ({
    dataId: backend.write(
      (array as Float32Array).filter((_, i) => i % 2 === offset),
      shape,
      'float32',
    ),
    shape,
    dtype: 'float32',
  });
  const [real, imag] = [part(0), part(1)];
  const result = getKernel('Complex', 'cpu').kernelFunc({ inputs: { real, imag }, backend, attrs: {} });
  for (const { dataId } of [real, imag]) backend.disposeData(dataId);
  return result as TensorInfo;
}

function readable(values: BackendValues, dtype: DataType): number[] | string[] {
  if (dtype === 'string') return (values as Uint8Array[]).map((bytes) => new TextDecoder().decode(bytes));
  const numbers = Array.from(values as Float32Array);
  // What is not 0 is true.
  return dtype === 'bool' ? numbers.map((value) => (value ? 1 : 0)) : numbers;
}

function mapSpecs(inputs: InputSpecs, make: (spec: TensorSpec) => TensorInfo): unknown {
  if (Array.isArray(inputs)) return inputs.map(make);
  return Object.fromEntries(
    Object.entries(inputs).map(([name, spec]) => [
      name,
      Array.isArray(spec) ? spec.map(make) : make(spec as TensorSpec),
    ]),
  );
}

/** Fails unless outputs agree in number, dtype, shape and values: floats up to `tolerance` of the largest, others exactly. */
export function assertOutputs(
  actual: readonly Output[],
  expected: readonly Output[],
  tolerance = 1e-5,
): void {
  assert.equal(actual.length, expected.length, 'number of outputs');
  expected.forEach((want, index) => {
    const got = actual[index]!;
    assert.deepEqual([got.dtype, got.shape], [want.dtype, want.shape], `dtype and shape of output ${index}`);
    if (want.dtype !== 'float32' && want.dtype !== 'complex64') {
      assert.deepEqual(got.values, want.values, `values of output ${index}`);
      return;
    }
    const largest = (want.values as number[]).reduce(
      (max, value) => (Number.isFinite(value) ? Math.max(max, Math.abs(value)) : max),
      0,
    );
    const close = (want.values as number[]).every((value, i) => {
      const other = got.values[i] as number;
      return (
        Object.is(value, other) ||
        value === other ||
        Math.abs(value - other) <= tolerance * Math.max(largest, 1)
      );
    });
    assert.ok(
      close && got.values.length === want.values.length,
      `values of output ${index}:\n  got      ${got.values}\n  expected ${want.values}`,
    );
  });
}

/** The tensor of these values. */
export function tensor(
  dtype: DataType,
  shape: number[],
  values: readonly number[] | readonly string[],
): TensorSpec {
  return { dtype, shape, values };
}
