import type { DataType } from '@tensorflow/tfjs-core';
import * as k from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import { broadcastable, integer, oneOf, type Property, property, shape, tensorOf } from '../arbitraries';
import type { TensorSpec } from '../harness';

const dims = fc.tuple(integer(1, 4), integer(1, 4), integer(1, 4));

/** Two batches of matrices that can be multiplied. */
function matrices(batches: fc.Arbitrary<[number[], number[]]>, dtypes: readonly DataType[]) {
  return fc
    .tuple(batches, dims, fc.boolean(), fc.boolean(), oneOf(...dtypes))
    .chain(([[batchA, batchB], [rows, inner, columns], transposeA, transposeB, dtype]) =>
      fc
        .tuple(
          tensorOf(dtype, [...batchA, ...(transposeA ? [inner, rows] : [rows, inner])]),
          tensorOf(dtype, [...batchB, ...(transposeB ? [columns, inner] : [inner, columns])]),
        )
        .map(([a, b]) => ({ a, b, transposeA, transposeB, columns })),
    );
}

/** tfjs-backend-cpu broadcasts only whole batches. */
const batches = fc
  .tuple(shape(0, 2, { max: 3 }), oneOf('same', 'left', 'right'))
  .map(([batch, kind]): [number[], number[]] => [
    kind === 'right' ? batch.map(() => 1) : batch,
    kind === 'left' ? batch.map(() => 1) : batch,
  ]);

const EQUATIONS: ReadonlyArray<readonly [string, ...string[]]> = [
  ['ij,jk->ik', 'ij', 'jk'],
  ['ij,ik->jk', 'ij', 'ik'],
  ['bij,bjk->bik', 'bij', 'bjk'],
  ['i,j->ij', 'i', 'j'],
  ['ij,ij->', 'ij', 'ij'],
  ['ijk->kji', 'ijk'],
  ['ij->j', 'ij'],
  ['abc,cd->abd', 'abc', 'cd'],
];

const einsum = fc
  .tuple(oneOf(...EQUATIONS), dims, integer(1, 3))
  .chain(([[equation, ...terms], sizes, last]) => {
    const sizeOf = (letter: string) => [...sizes, last]['ijkbacd'.indexOf(letter) % 4]!;
    const operands = terms.map((term) => tensorOf('float32', [...term].map(sizeOf)));
    return fc.tuple(...operands).map((inputs) => ({ inputs: inputs as TensorSpec[], attrs: { equation } }));
  });

const activation = oneOf('linear', 'relu', 'relu6', 'elu', 'sigmoid', 'leakyrelu', 'prelu');

export const matrixProperties: Property[] = [
  property(
    k.BatchMatMul,
    matrices(batches, ['float32', 'int32']).map(({ a, b, transposeA, transposeB }) => ({
      inputs: { a, b },
      attrs: { transposeA, transposeB },
    })),
  ),
  property(
    k._FusedMatMul,
    fc
      .tuple(matrices(batches, ['float32']), activation, fc.boolean())
      .chain(([{ a, b, transposeA, transposeB, columns }, name, biased]) =>
        fc.tuple(tensorOf('float32', [columns]), tensorOf('float32', [columns])).map(([bias, alpha]) => ({
          inputs: {
            a,
            b,
            ...(biased ? { bias } : {}),
            ...(name === 'prelu' ? { preluActivationWeights: alpha } : {}),
          } as Record<string, TensorSpec>,
          attrs: { transposeA, transposeB, activation: name, leakyreluAlpha: 0.25 },
        })),
      ),
  ),
  property(k.Einsum, einsum),
  property(
    k.Diag,
    fc
      .tuple(shape(1, 2, { max: 3 }), oneOf<DataType>('float32', 'int32', 'bool'))
      .chain(([dimensions, dtype]) => tensorOf(dtype, dimensions).map((x) => ({ inputs: { x } }))),
  ),
  property(
    k.BroadcastArgs,
    broadcastable().map(([left, right]) => ({
      inputs: {
        s0: { dtype: 'int32', shape: [left.length], values: left } as TensorSpec,
        s1: { dtype: 'int32', shape: [right.length], values: right } as TensorSpec,
      },
    })),
  ),
];
