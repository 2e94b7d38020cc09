import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import { errorOf, onTftrt } from '../support/tftrt';
import { build, byEngines, expectEngine, outsideProfiles } from './api';
import { denseModel, disorder, floats, graphModel, node, placeholder, tensorOf } from './graphs';
import { predict } from './outcome';

/** Inputs of several shapes: an engine for those of the profiles, TensorFlow for all others. */
describe('TensorRT: shapes', function () {
  this.timeout(300_000);
  onTftrt();

  const input = (rows: number) => disorder([rows, 8], rows);

  it('one engine serves every batch of a profile', async () => {
    const { model, expected } = await denseModel();
    const report = await build(model, {
      inputs: [tensorOf(input(3))],
      profiles: [{ min: [1, 8], opt: [4, 8], max: [16, 8] }],
    });
    expectEngine(report);
    const before = outsideProfiles();
    for (const rows of [1, 4, 16, 3, 7]) {
      const x = input(rows);
      const { shape, values } = await predict(model, tensorOf(x));
      expect({ shape, values }).to.deep.equal({ shape: [rows, 4], values: expected(x.values) });
    }
    expect(outsideProfiles(), 'predictions outside of the profiles').to.equal(before);
    model.dispose();
  });

  it('shapes outside of the profiles are right by TensorFlow, and counted', async () => {
    const { model, expected } = await denseModel();
    // Without sample inputs: the profile says enough to make some.
    expectEngine(await build(model, { profiles: [{ min: [2, 8], opt: [4, 8], max: [8, 8] }] }));
    const before = outsideProfiles();
    for (const rows of [1, 9, 100, 4, 1]) {
      const x = input(rows);
      expect((await predict(model, tensorOf(x))).values).to.deep.equal(expected(x.values));
      const later = (await model.predictAsync(tensorOf(x))) as tf.Tensor;
      expect(Array.from(await later.data())).to.deep.equal(expected(x.values));
    }
    expect(outsideProfiles() - before, 'predictions outside of the profiles').to.equal(8);
    model.dispose();
  });

  it('the shapes of the sample inputs are the profile where none is given', async () => {
    const { model, expected } = await denseModel();
    const report = await build(model, { inputs: [tensorOf(input(4))] });
    expectEngine(report);
    const before = outsideProfiles();
    for (const rows of [4, 5, 4]) {
      const x = input(rows);
      expect((await predict(model, tensorOf(x))).values).to.deep.equal(expected(x.values));
    }
    expect(outsideProfiles() - before).to.equal(1);
    model.dispose();
  });

  it('several profiles', async () => {
    const { model, expected } = await denseModel();
    const report = await build(model, {
      inputs: [tensorOf(input(1)), tensorOf(input(16))],
      profiles: [{ opt: [1, 8] }, { min: [10, 8], opt: [16, 8], max: [32, 8] }],
    });
    expectEngine(report);
    const before = outsideProfiles();
    for (const rows of [1, 10, 32, 5, 16, 1]) {
      const x = input(rows);
      expect((await predict(model, tensorOf(x))).values, `${rows} rows`).to.deep.equal(expected(x.values));
    }
    expect(outsideProfiles() - before, 'predictions outside of the profiles').to.equal(1);
    model.dispose();
  });

  it('two inputs whose sizes differ', async () => {
    const model = await graphModel(
      [
        placeholder('a', [-1, 8]),
        placeholder('b', [-1, 8]),
        node('sum', 'AddV2', ['a', 'b']),
        node('relu', 'Relu', ['sum']),
        node('y', 'Mul', ['relu', 'two']),
      ],
      { two: floats([], 2) },
    );
    const range = (rows: number) => ({ min: [1, 8], opt: [rows, 8], max: [8, 8] });
    expectEngine(await build(model, { profiles: [{ a: range(4), b: range(1) }] }));
    const check = async (a: number, b: number) => {
      const inputs = { a: tf.fill([a, 8], 3), b: tf.fill([b, 8], -1) };
      const y = model.predict(inputs) as tf.Tensor;
      expect(Array.from(await y.data()), `${a} and ${b} rows`).to.deep.equal(new Array(8 * a).fill(4));
      tf.dispose([inputs, y]);
    };
    await byEngines(async () => {
      await check(4, 1);
      await check(1, 1);
      await check(8, 8);
    });
    const before = outsideProfiles();
    await check(9, 1);
    expect(outsideProfiles() - before, 'predictions outside of the profiles').to.equal(1);
    model.dispose();
  });

  it('profiles that cannot be are refused, and the model works on', async () => {
    const { model, expected } = await denseModel();
    const wrong = [
      [{ min: [5, 8], opt: [4, 8], max: [8, 8] }], // min above opt
      [{ min: [1, 8], opt: [9, 8], max: [8, 8] }], // opt above max
      [{ opt: [4] }], // another rank
      [{ opt: [4, 7] }], // another size of a fixed dimension
      [{ opt: [-1, 8] }],
      [{ opt: [1.5, 8] }],
      [{ nonsense: { opt: [1, 8] } }], // no such input
    ];
    for (const profiles of wrong) {
      const error = await errorOf(() => build(model, { profiles }));
      expect(error.code, `${JSON.stringify(profiles)}: ${error.message}`).to.equal('TFTRT_INVALID_ARGUMENT');
    }
    const x = input(3);
    expect((await predict(model, tensorOf(x))).values).to.deep.equal(expected(x.values));
    model.dispose();
  });
});
