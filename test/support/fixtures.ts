import fs from 'node:fs';
import path from 'node:path';
import { deregisterOp, registerOp } from '@tensorflow/tfjs-converter';
import * as tf from '@tensorflow/tfjs-core';
import { packageRoot } from '#src/setup/paths';

const FIXTURES = path.join(packageRoot, 'test', 'fixtures');

/** The kinds of fixture, as their folders are named. */
export type FixtureKind = 'saved_models' | 'graph_models' | 'frozen_graphs';

/**
 * A tensor of an expected file: what TensorFlow gave, or is to be given. Values are flat. An integer that a number does
 * not hold exactly is a bigint; complex numbers are real and imaginary parts in turn.
 */
export interface FixtureTensor {
  /** TensorFlow's name: float32, int64, uint8, complex64, string, bool, … */
  readonly dtype: string;
  readonly shape: number[];
  readonly values: readonly (number | bigint | boolean | string)[];
}

/** One call of a fixture. */
export interface FixtureCase {
  readonly name: string;
  /** Saved models: which signature of which graph. */
  readonly signature: string;
  readonly tags: string[];
  /** Nodes to ask for with `execute`; absent when the call is `predict`. */
  readonly fetch?: string[];
  /** Allowed error of floats, relative to the largest absolute value of the output. */
  readonly tolerance: number;
  readonly inputs: Record<string, FixtureTensor>;
  /** In the model's order: as its outputs, or as `fetch`. */
  readonly outputs: Record<string, FixtureTensor>;
}

/** A small model with inputs, and the outputs that Python's TensorFlow gave for them. */
export interface Fixture {
  readonly kind: FixtureKind;
  readonly name: string;
  /** What it is for. */
  readonly about: string;
  /** The model's folder; of a frozen graph, its file without the ending `.pb`. */
  readonly folder: string;
  readonly cases: FixtureCase[];
  /** Why tfjs's own executor does not give the expected outputs, where it does not. */
  readonly stock?: string;
}

/** The names of all fixtures of a kind. */
export function fixtureNames(kind: FixtureKind): string[] {
  return fs
    .readdirSync(path.join(FIXTURES, 'expected', kind))
    .filter((file) => file.endsWith('.json'))
    .map((file) => path.basename(file, '.json'))
    .sort();
}

/** Reads a fixture (the format is described in test/fixtures/make_fixtures.py). */
export function readFixture(kind: FixtureKind, name: string): Fixture {
  const text = fs.readFileSync(path.join(FIXTURES, 'expected', kind, `${name}.json`), 'utf8');
  const { about, cases, stock } = JSON.parse(text) as Omit<Fixture, 'kind' | 'name' | 'folder'>;
  for (const { inputs, outputs } of cases) {
    for (const tensors of [inputs, outputs]) {
      for (const [key, tensor] of Object.entries(tensors)) tensors[key] = decode(tensor);
    }
  }
  return { kind, name, about, folder: path.join(FIXTURES, kind, name), cases, stock };
}

/** All fixtures of a kind. */
export function readFixtures(kind: FixtureKind): Fixture[] {
  return fixtureNames(kind).map((name) => readFixture(kind, name));
}

/** The dtype that a TensorFlow dtype has in tfjs. */
export function tfjsDtype(dtype: string): tf.DataType {
  if (dtype === 'string' || dtype === 'bool' || dtype === 'complex64') return dtype;
  return /^u?int/.test(dtype) ? 'int32' : 'float32';
}

/** A tfjs tensor of the active backend with a fixture's values. */
export function toTensor({ dtype, shape, values }: FixtureTensor): tf.Tensor {
  const target = tfjsDtype(dtype);
  if (target === 'complex64') {
    const part = (offset: number) =>
      tf.tensor(values.filter((_, i) => i % 2 === offset) as number[], shape, 'float32');
    return tf.tidy(() => tf.complex(part(0), part(1)));
  }
  if (target === 'string') return tf.tensor(values as string[], shape, 'string');
  // Typed arrays, since a plain empty one would not say its dtype.
  const numbers = values.map(Number);
  const data =
    target === 'float32'
      ? Float32Array.from(numbers)
      : target === 'bool'
        ? Uint8Array.from(numbers)
        : Int32Array.from(numbers);
  return tf.tensor(data, shape, target);
}

/** The inputs of a case as tensors of the active backend. */
export function toTensors(tensors: Record<string, FixtureTensor>): tf.NamedTensorMap {
  return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, toTensor(tensor)]));
}

/** Whether an integer tensor has a value that tfjs's int32 cannot hold. */
export function exceedsInt32({ dtype, values }: FixtureTensor): boolean {
  return tfjsDtype(dtype) === 'int32' && values.some((value) => Number(value) !== (Number(value) | 0));
}

/**
 * Compares a tensor with what it should be. Returns null when it is right, else a sentence that says what differs.
 * Floats may err by `tolerance` of the largest absolute value expected; everything else must be exact.
 */
export async function mismatch(
  actual: tf.Tensor,
  expected: FixtureTensor,
  tolerance: number,
): Promise<string | null> {
  const dtype = tfjsDtype(expected.dtype);
  if (actual.dtype !== dtype) return `dtype is ${actual.dtype}, expected ${dtype}`;
  if (actual.shape.join() !== expected.shape.join())
    return `shape is [${actual.shape}], expected [${expected.shape}]`;
  const values = await actual.data();
  if (values.length !== expected.values.length)
    return `${values.length} values, expected ${expected.values.length}`;
  const isFloat = dtype === 'float32' || dtype === 'complex64';
  const allowed = isFloat ? tolerance * largest(expected.values as number[]) : 0;
  for (const [i, wanted] of expected.values.entries()) {
    const value = (values as ArrayLike<number | string>)[i];
    const target = dtype === 'string' ? wanted : Number(wanted);
    const right =
      Object.is(value, target) ||
      value === target ||
      Math.abs((value as number) - (target as number)) <= allowed;
    if (!right) return `value ${i} is ${value}, expected ${target} (to ${allowed})`;
  }
  return null;
}

/** Registers the JavaScript ops that fixtures use (`custom_op`); returns a function that takes them away again. */
export function registerFixtureOps(): () => void {
  registerOp('FixtureSquarePlus', ({ inputs, attrs }) =>
    tf.tidy(() => tf.add(tf.square(inputs[0]!), attrs.offset as number)),
  );
  return () => deregisterOp('FixtureSquarePlus');
}

function largest(values: readonly number[]): number {
  return values.reduce((max, value) => (Number.isFinite(value) ? Math.max(max, Math.abs(value)) : max), 0);
}

/** JSON has no NaN, no infinities and no exact large integers: these come as strings. */
function decode({ dtype, shape, values }: FixtureTensor): FixtureTensor {
  if (dtype === 'string') return { dtype, shape, values };
  const decoded = values.map((value) =>
    typeof value !== 'string' ? value : /^u?int/.test(dtype) ? BigInt(value) : Number(value),
  );
  return { dtype, shape, values: decoded };
}
