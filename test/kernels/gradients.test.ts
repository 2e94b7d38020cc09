import { execFileSync } from 'node:child_process';
import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import { live, onTftrt } from '../support/tftrt';

const SHAPE = [2, 3, 4];
const VALUES = Float32Array.from({ length: 24 }, (_, i) => Math.sin(7 * i) * 3);

interface Reduction {
  readonly name: string;
  readonly reduce: (x: tf.Tensor) => tf.Tensor;
  readonly axes: readonly number[];
  readonly isMean?: boolean;
}

const reductions: readonly Reduction[] = [
  { name: 'sum, of all', reduce: (x) => tf.sum(x), axes: [0, 1, 2] },
  { name: 'sum, along the first axis', reduce: (x) => tf.sum(x, 0), axes: [0] },
  { name: 'sum, along the last axis, which is kept', reduce: (x) => tf.sum(x, -1, true), axes: [2] },
  { name: 'sum, along two axes', reduce: (x) => tf.sum(x, [0, 2]), axes: [0, 2] },
  { name: 'mean, of all', reduce: (x) => tf.mean(x), axes: [0, 1, 2], isMean: true },
  { name: 'mean, along one axis', reduce: (x) => tf.mean(x, 1), axes: [1], isMean: true },
  { name: 'mean, along two axes, kept', reduce: (x) => tf.mean(x, [2, 0], true), axes: [0, 2], isMean: true },
];

/** For each element, the sum of those that are reduced together with it. */
function sumsOf(axes: readonly number[]): { sums: number[]; reduced: number } {
  const groupOf = (i: number) =>
    [Math.floor(i / 12), Math.floor(i / 4) % 3, i % 4]
      .map((at, axis) => (axes.includes(axis) ? 0 : at))
      .join();
  const sums = new Map<string, number>();
  for (const [i, value] of VALUES.entries()) sums.set(groupOf(i), (sums.get(groupOf(i)) ?? 0) + value);
  const reduced = axes.reduce((product, axis) => product * SHAPE[axis]!, 1);
  return { sums: Array.from(VALUES, (_, i) => sums.get(groupOf(i))!), reduced };
}

function expectClose(actual: ArrayLike<number>, expected: readonly number[], what: string): void {
  expect(actual.length, what).to.equal(expected.length);
  for (const [i, value] of expected.entries()) {
    expect(actual[i], `${what} at ${i}`).to.be.closeTo(value, 1e-4 * Math.max(1, Math.abs(value)));
  }
}

describe('gradients', () => {
  onTftrt();

  for (const { name, reduce, axes, isMean } of reductions) {
    it(`of a reduction are right, and so are those of the gradients: ${name}`, async () => {
      const first = tf.grad((x: tf.Tensor) => tf.sum(tf.square(reduce(x))));
      const second = tf.grad((x: tf.Tensor) => tf.sum(tf.square(first(x))));
      const x = tf.tensor(VALUES, SHAPE);
      const results = [first(x), second(x)];
      const { sums, reduced } = sumsOf(axes);
      const weight = isMean ? 1 / reduced : 1;
      // Of (w·s)², s the sum of n elements: 2·w²·s; of n times its square: 8·n·w⁴·s.
      const expected = [sums.map((s) => 2 * weight ** 2 * s), sums.map((s) => 8 * reduced * weight ** 4 * s)];
      for (const [i, result] of results.entries()) {
        expect(result.shape).to.deep.equal(SHAPE);
        expectClose(await result.data(), expected[i]!, `derivative ${i + 1}`);
      }
      tf.dispose([x, results]);
    });
  }

  it('of reductions make nothing on the host', async () => {
    const x = tf.ones([64, 64]);
    const gradient = tf.grad((at: tf.Tensor) => tf.mean(at));
    const { result, kernelNames } = await tf.profile(() => gradient(x));
    expect(kernelNames).to.include('Fill');
    const values = await (result as tf.Tensor).data();
    expect(values.every((value) => value === 1 / 4096)).to.equal(true);
    tf.dispose([x, result as tf.Tensor]);
  });

  it('that a program registered before it made the backend stay, and tfjs warns of none', () => {
    const program = `
      const tf = require('@tensorflow/tfjs');
      require('tfjs-backend-tftrt');
      const gradFunc = (dy, [x]) => ({ x: () => tf.mul(tf.onesLike(x), 7) });
      tf.registerGradient({ kernelName: 'Sum', inputsToSave: ['x'], gradFunc });
      const warnings = [];
      console.warn = (message) => warnings.push(message);
      (async () => {
        tf.env().set('DEBUG', true);
        await tf.setBackend('tftrt');
        tf.env().set('DEBUG', false);
        const x = tf.tensor1d([1, 2]);
        const gradients = ['sum', 'mean'].map((name) => Array.from(tf.grad((at) => tf[name](at))(x).dataSync()));
        const { kernelNames } = await tf.profile(() => tf.grad((at) => tf.mean(at))(x));
        const overriding = warnings.filter((message) => /gradient/.test(message));
        console.log(JSON.stringify({ gradients, fills: kernelNames.includes('Fill'), overriding }));
      })();
    `;
    const output = execFileSync(process.execPath, ['--eval', program], { encoding: 'utf8', stdio: 'pipe' });
    expect(JSON.parse(output)).to.deep.equal({
      gradients: [
        [7, 7],
        [0.5, 0.5],
      ],
      fills: true,
      overriding: [],
    });
  }).timeout(120_000);

  it('leave nothing behind', async () => {
    const before = live();
    const x = tf.ones(SHAPE);
    tf.dispose([tf.grad((at: tf.Tensor) => tf.sum(at))(x), tf.grad((at: tf.Tensor) => tf.mean(at))(x), x]);
    expect(live()).to.deep.equal(before);
  });
});
