// The project's small SavedModels, read without the helpers of its tests: those would load a second tfjs into the peer's process.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NamedTensorMap } from '@tensorflow/tfjs-core';
import { packageRoot } from '#src/setup/paths';
import type { TfjsNode } from './types';

interface FixtureTensor {
  readonly dtype: string;
  readonly shape: number[];
  readonly values: readonly (number | boolean | string)[];
}

/** A call of a signature. */
export interface FixtureCall {
  readonly name: string;
  readonly signature: string;
  readonly tags: string[];
  readonly fetch?: readonly string[];
  readonly inputs: Readonly<Record<string, FixtureTensor>>;
}

export interface Fixture {
  readonly name: string;
  readonly calls: readonly FixtureCall[];
}

const FOLDER = join(packageRoot, 'test', 'fixtures');

export const fixtures: readonly Fixture[] = readdirSync(join(FOLDER, 'expected', 'saved_models'))
  .filter((file) => file.endsWith('.json'))
  .sort()
  .map((file) => {
    const text = readFileSync(join(FOLDER, 'expected', 'saved_models', file), 'utf8');
    const { cases } = JSON.parse(text) as { cases: FixtureCall[] };
    return { name: file.replace('.json', ''), calls: cases };
  });

/** The folder of a SavedModel. */
export function folderOf(name: string): string {
  return join(FOLDER, 'saved_models', name);
}

/** A call's inputs as tensors of a side; values that are no numbers in JSON stand there as strings. */
export function inputsOf({ inputs }: FixtureCall, tf: TfjsNode): NamedTensorMap {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, { dtype, shape, values }]) => {
      const target = tfjsDtype(dtype);
      if (target === 'string') return [name, tf.tensor(values as string[], shape, 'string')];
      const numbers = values.map(Number);
      if (target === 'complex64') {
        const part = (offset: number) =>
          tf.tensor(
            numbers.filter((_, i) => i % 2 === offset),
            shape,
          );
        return [name, tf.complex(part(0), part(1))];
      }
      const data = target === 'float32' ? Float32Array.from(numbers) : Int32Array.from(numbers);
      return [
        name,
        target === 'bool'
          ? tf.tensor(Uint8Array.from(numbers), shape, 'bool')
          : tf.tensor(data, shape, target),
      ];
    }),
  );
}

function tfjsDtype(dtype: string): 'float32' | 'int32' | 'bool' | 'string' | 'complex64' {
  if (dtype === 'string' || dtype === 'bool' || dtype === 'complex64') return dtype;
  return /^u?int/.test(dtype) ? 'int32' : 'float32';
}
