import { milliseconds, sampleForATurn } from '../sampling';
import { SIDES } from '../sides';
import type { Case } from '../types';
import { seededFloats, spread } from '../values';

const COUNT = 16 * 1024 * 1024;

/** tfjs uploads a tensor when an op first uses it: a slice of one element is the cheapest use. */
const upload: Case = {
  name: 'upload',
  title: '64 MiB typed array into a tensor, as far as the first op on it',
  unit: 'ms',
  better: 'lower',
  sides: SIDES,
  async prepare({ tf }) {
    const values = seededFloats(COUNT);
    let last: ArrayLike<number> = [];
    const run = () => {
      const x = tf.tensor1d(values);
      const first = tf.slice(x, [COUNT - 1], [1]);
      last = first.dataSync();
      tf.dispose([x, first]);
    };
    return { warmUp: run, turn: () => sampleForATurn(milliseconds(run)), output: () => spread(last) };
  },
};

/** Only the read is timed; the tensor is the result of an op, so the values exist nowhere else. */
const read: Case = {
  name: 'read',
  title: '64 MiB tensor, the result of an op, read with dataSync',
  unit: 'ms',
  better: 'lower',
  sides: SIDES,
  async prepare({ tf }) {
    const x = tf.tensor1d(seededFloats(COUNT));
    let last: ArrayLike<number> = [];
    const sample = () => {
      const y = tf.neg(x);
      const time = milliseconds(() => {
        last = y.dataSync();
      })();
      y.dispose();
      return time;
    };
    return { warmUp: sample, turn: () => sampleForATurn(sample), output: () => spread(last) };
  },
};

/** Between typed arrays and the memory of the device. */
export const transferCases: readonly Case[] = [upload, read];
