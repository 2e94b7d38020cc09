import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { TftrtBackend } from '../backend/backend';
import type { Runner } from './runner';

/** How much a runner's outputs differ from another's for these inputs, see `differs`. Leaves nothing behind. */
export async function runnersDiffer(
  backend: TftrtBackend,
  reference: Runner,
  runner: Runner,
  inputs: readonly TensorInfo[],
): Promise<number> {
  const expected = await reference.runAsync(backend, inputs);
  let actual: TensorInfo[];
  try {
    actual = await runner.runAsync(backend, inputs);
  } catch (error) {
    for (const { dataId } of expected) backend.disposeData(dataId);
    throw error;
  }
  return differs(backend, expected, actual);
}

/**
 * The largest difference between two lists of outputs, as a share of the largest absolute value that the first has: 0 is
 * equal, Infinity is of another shape, or not a number in one of them only. Disposes of the outputs.
 */
export async function differs(
  backend: TftrtBackend,
  expected: readonly TensorInfo[],
  actual: readonly TensorInfo[],
): Promise<number> {
  try {
    if (expected.length !== actual.length) return Infinity;
    let worst = 0;
    for (let i = 0; i < expected.length; i++) {
      const a = expected[i]!;
      const b = actual[i]!;
      if (a.dtype !== b.dtype || a.shape.join() !== b.shape.join()) return Infinity;
      worst = Math.max(worst, difference(await backend.read(a.dataId), await backend.read(b.dataId)));
    }
    return worst;
  } finally {
    for (const { dataId } of [...expected, ...actual]) backend.disposeData(dataId);
  }
}

/** The same of the values of one output. */
export function difference(expected: ArrayLike<unknown>, actual: ArrayLike<unknown>): number {
  let largest = 0;
  let worst = 0;
  for (let i = 0; i < expected.length; i++) {
    const a = expected[i];
    const b = actual[i];
    if (typeof a !== 'number' || typeof b !== 'number') {
      if (Buffer.compare(Buffer.from(a as Uint8Array), Buffer.from(b as Uint8Array)) !== 0) return Infinity;
      continue;
    }
    if (Object.is(a, b)) {
      if (Number.isFinite(a)) largest = Math.max(largest, Math.abs(a));
      continue;
    }
    if (!Number.isFinite(a) || !Number.isFinite(b)) return Infinity;
    largest = Math.max(largest, Math.abs(a));
    worst = Math.max(worst, Math.abs(a - b));
  }
  return worst === 0 ? 0 : largest === 0 ? Infinity : worst / largest;
}
