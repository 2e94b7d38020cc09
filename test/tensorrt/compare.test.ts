import * as tf from '@tensorflow/tfjs-core';
import { expect } from 'chai';
import { tftrtBackend } from '#src/backend/active';
import { difference, differs, runnersDiffer } from '#src/program/compare';
import type { Runner } from '#src/program/runner';
import { cleanErrorOf, live, onTftrt } from '../support/tftrt';

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

describe('comparing outputs', () => {
  const cases: Array<[string, number[], number[], number]> = [
    ['equal', [1, -2, 0], [1, -2, 0], 0],
    ['zeros of either sign', [0, -0], [-0, 0], 0],
    ['a share of the largest', [1, -4], [1, -3], 0.25],
    ['a small value beside a large one', [100, 1e-3], [100, 0], 1e-5],
    ['something where zero is expected', [0, 0], [0, 1e-9], inf],
    ['not a number in both', [nan, 1], [nan, 1], 0],
    ['not a number in one', [1, 1], [nan, 1], inf],
    ['a number where none is expected', [nan, 1], [1, 1], inf],
    ['infinity in both', [inf, 2], [inf, 1], 0.5],
    ['infinities of either sign', [inf], [-inf], inf],
    ['infinity in one', [inf], [1], inf],
    ['nothing', [], [], 0],
  ];
  for (const [what, expected, actual, wanted] of cases) {
    it(what, () => expect(difference(expected, actual)).to.equal(wanted));
  }

  it('of strings', () => {
    const bytes = (...texts: string[]) => texts.map((text) => new TextEncoder().encode(text));
    expect(difference(bytes('a', 'ü'), bytes('a', 'ü'))).to.equal(0);
    expect(difference(bytes('a'), bytes('b'))).to.equal(inf);
  });

  describe('of the backend', () => {
    onTftrt();
    const info = (values: number[], shape: number[], dtype: 'float32' | 'int32' = 'float32') => {
      const typed = dtype === 'int32' ? Int32Array.from(values) : Float32Array.from(values);
      return { dataId: tftrtBackend().write(typed, shape, dtype), shape, dtype };
    };

    it('is the worst of all, and leaves none', async () => {
      const before_ = live();
      const worst = await differs(
        tftrtBackend(),
        [info([1, 2], [2]), info([10], [1])],
        [info([1, 1], [2]), info([9], [1])],
      );
      expect(worst).to.equal(0.5);
      for (const other of [
        [info([1, 2], [1, 2])],
        [info([1, 2], [2], 'int32')],
        [info([1, 2], [2]), info([1], [1])],
      ]) {
        expect(await differs(tftrtBackend(), [info([1, 2], [2])], other)).to.equal(inf);
      }
      expect(live()).to.deep.equal(before_);
    });

    it('leaves nothing of a run whose other fails', async () => {
      const gives = { runAsync: async () => [info([1], [1])] } as unknown as Runner;
      const fails = {
        runAsync: async () => {
          throw new Error('on purpose');
        },
      } as unknown as Runner;
      for (const [a, b] of [
        [gives, fails],
        [fails, gives],
      ] as const) {
        const error = await cleanErrorOf(() => runnersDiffer(tftrtBackend(), a, b, []));
        expect(error.message).to.equal('on purpose');
      }
      expect(await runnersDiffer(tftrtBackend(), gives, gives, [])).to.equal(0);
      expect(tf.memory().numTensors).to.be.a('number');
    });
  });
});
