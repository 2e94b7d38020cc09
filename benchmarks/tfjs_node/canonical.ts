import { createHash } from 'node:crypto';
import type { Tensor } from '@tensorflow/tfjs-core';
import type { Json } from './types';

/** More values than this are told by their checksum. */
const FEW = 24;

/** What a case returned as plain JSON that does not depend on who made it. */
export async function canonical(value: unknown): Promise<Json> {
  if (value === undefined) return 'undefined';
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number') return number(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (isTensor(value)) return tensor(value);
  if (value instanceof Uint8Array) return { bytes: value.length, sha256: hash(value) };
  if (ArrayBuffer.isView(value))
    return { [value.constructor.name]: list([...(value as Int32Array)].map(number)) };
  if (Array.isArray(value)) return Promise.all(value.map(canonical));
  if (isDimension(value as object)) return (value as { getSize(): number }).getSize();
  if (Object.getPrototypeOf(value) !== Object.prototype) return `a ${(value as object).constructor.name}`;
  const entries = Object.entries(value as object).sort(([a], [b]) => (a < b ? -1 : 1));
  const all = entries.map(async ([key, item]) => [key, await canonical(item)] as const);
  return Object.fromEntries(await Promise.all(all));
}

async function tensor(value: Tensor): Promise<Json> {
  const data = (await value.data()) as ArrayLike<unknown>;
  const values = Array.from(data, (item) => (typeof item === 'number' ? number(item) : String(item)));
  const big: Record<string, Json> = data instanceof BigInt64Array ? { array: 'BigInt64Array' } : {};
  return { dtype: value.dtype, shape: [...value.shape], ...big, values: list(values) };
}

/** Each side has its own copy of tfjs-core. */
function isTensor(value: unknown): value is Tensor {
  return typeof (value as Partial<Tensor>).dataSync === 'function';
}

/** A dimension as protobuf's code for JavaScript has it, which the peer returns as it is. A case of its own says so. */
function isDimension(value: object): value is { getSize(): number } {
  return typeof (value as { getSize?: unknown }).getSize === 'function';
}

function list(values: Json[]): Json {
  return values.length <= FEW ? values : { count: values.length, sha256: hash(JSON.stringify(values)) };
}

/** JSON has no NaN, no infinities and no -0. The last digits of floats depend on how a graph is optimised. */
function number(value: number): Json {
  if (Number.isFinite(value) && !Number.isInteger(value)) return Number(value.toPrecision(5));
  return Number.isFinite(value) && !Object.is(value, -0)
    ? value
    : Object.is(value, -0)
      ? '-0'
      : String(value);
}

function hash(content: Uint8Array | string): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}
