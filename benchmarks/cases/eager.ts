import type { Tensor, Tensor2D, Tensor4D } from '@tensorflow/tfjs';
import { microseconds, milliseconds, sampleForATurn } from '../sampling';
import { SIDES } from '../sides';
import { shareOfTime } from '../targets';
import type { Case, Side } from '../types';
import { seededFloats, spread } from '../values';

const add: Case = {
  name: 'add',
  title: 'tf.add of 4 floats + dispose',
  unit: 'µs',
  better: 'lower',
  sides: SIDES,
  targets: [shareOfTime(0.5)],
  async prepare({ tf }) {
    const a = tf.tensor1d(seededFloats(4, 1));
    const b = tf.tensor1d(seededFloats(4, 2));
    const run = () => tf.add(a, b).dispose();
    return {
      warmUp: run,
      turn: () => sampleForATurn(microseconds(run)),
      output: () => spread(tf.tidy(() => tf.add(a, b).dataSync())),
    };
  },
};

/** One op of some weight; its result is read, so that nothing can be put off. */
function readOp(name: string, title: string, inputs: (side: Side) => () => Tensor): Case {
  return {
    name,
    title: `${title} + dataSync + dispose`,
    unit: 'ms',
    better: 'lower',
    sides: SIDES,
    targets: [shareOfTime(1.05)],
    async prepare(side) {
      const op = inputs(side);
      let last: ArrayLike<number> = [];
      const run = () => {
        const y = op();
        last = y.dataSync();
        y.dispose();
      };
      return { warmUp: run, turn: () => sampleForATurn(milliseconds(run)), output: () => spread(last) };
    },
  };
}

const matmul = readOp('matmul-1024', 'tf.matMul of two 1024²', ({ tf }) => {
  const a = tf.tensor2d(seededFloats(1024 * 1024, 1), [1024, 1024]) as Tensor2D;
  const b = tf.tensor2d(seededFloats(1024 * 1024, 2), [1024, 1024]) as Tensor2D;
  return () => tf.matMul(a, b);
});

const conv = readOp('conv-3x3', 'tf.conv2d 3×3, 56²×64 to 64', ({ tf }) => {
  const x = tf.tensor4d(seededFloats(56 * 56 * 64, 1), [1, 56, 56, 64]) as Tensor4D;
  const w = tf.tensor4d(seededFloats(3 * 3 * 64 * 64, 2), [3, 3, 64, 64]) as Tensor4D;
  return () => tf.conv2d(x, w, 1, 'same');
});

/** Single ops, called one by one. */
export const eagerCases: readonly Case[] = [add, matmul, conv];
