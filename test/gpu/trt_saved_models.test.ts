import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { node } from 'tfjs-backend-tftrt/node';
import { type FixtureCase, type FixtureKind, mismatch, readFixture, toTensors } from '../support/fixtures';
import { errorOf, expectBack, live, onTftrt } from '../support/tftrt';
import { build, byEngines, expectEngine, type Model, outsideProfiles } from './api';
import { disorder, tensorOf } from './graphs';
import { relativeError } from './outcome';

/** Models with variables and tables, which come along into the graph that engines are built from. */
describe('TensorRT: SavedModels', function () {
  this.timeout(300_000);
  onTftrt();

  /** The values of all outputs by name, or number; disposes of inputs and outputs. */
  async function run(model: Model, inputs: tf.NamedTensorMap): Promise<Record<string, number[]>> {
    const outputs = model.predict(inputs) as tf.NamedTensorMap;
    const values: Record<string, number[]> = {};
    for (const [name, output] of Object.entries(outputs)) values[name] = Array.from(await output.data());
    tf.dispose([inputs, outputs]);
    return values;
  }

  function expectNear(actual: Record<string, number[]>, expected: Record<string, number[]>): void {
    expect(Object.keys(actual)).to.deep.equal(Object.keys(expected));
    for (const [name, values] of Object.entries(expected)) {
      expect(relativeError(actual[name]!, values), name).to.be.at.most(1e-4);
    }
  }

  /** Checks what Python's TensorFlow gave. */
  async function check(model: Model, { name, inputs, outputs, tolerance }: FixtureCase): Promise<void> {
    const fed = toTensors(inputs);
    // A graph model gives a list, in the order of the file.
    const results = model.predict(fed) as tf.NamedTensorMap | tf.Tensor[];
    for (const [i, [output, wanted]] of Object.entries(outputs).entries()) {
      const result = Array.isArray(results) ? results[i]! : results[output]!;
      expect(await mismatch(result, wanted, tolerance), `${name}, ${output}`).to.equal(null);
    }
    tf.dispose([fed, results]);
  }

  it('with variables: one engine serves a range of batches, and the next load finds it in the cache', async () => {
    const { folder, cases } = readFixture('saved_models', 'keras_cnn');
    const before_ = live();
    const shape = (rows: number) => [rows, 16, 16, 3];
    const image = (rows: number) => ({ image: tensorOf(disorder(shape(rows), rows)) });
    const model = await node.loadSavedModel(folder);
    const expected = await run(model, image(2));
    const samples = cases.map(({ inputs }) => toTensors(inputs));
    const options = { inputs: samples, profiles: [{ min: shape(1), opt: shape(2), max: shape(3) }] };
    expectEngine(await build(model, options));
    await byEngines(async () => {
      expectNear(await run(model, image(2)), expected);
      for (const call of cases) await check(model, call); // of 1 and of 3
    });
    const outside = outsideProfiles();
    expect((await run(model, image(4))).probabilities).to.have.length(40);
    expect(outsideProfiles() - outside, 'predictions outside of the profiles').to.equal(1);

    const again = await tftrt.loadSavedModel(folder);
    const report = await build(again, options);
    expectEngine(report);
    expect(report.engines.map(({ fromCache }) => fromCache)).to.deep.equal(report.engines.map(() => true));
    // The first one's engine outlives this one's.
    again.dispose();
    expectNear(await byEngines(() => run(model, image(2))), expected);
    tf.dispose(samples);
    model.dispose();
    await expectBack(live, before_, 'after both are disposed of');
  });

  it('as TensorFlow 1 wrote them, with two outputs; their nodes can still be fetched', async () => {
    const { folder, cases } = readFixture('saved_models', 'intermediate');
    const model = await node.loadSavedModel(folder);
    const x = (rows: number) => ({ x: tensorOf(disorder([rows, 6], rows)) });
    const expected = await run(model, x(5));
    const range = { min: [1, 6], opt: [5, 6], max: [8, 6] };
    expectEngine(await build(model, { profiles: [range] }));
    await byEngines(async () => {
      expectNear(await run(model, x(5)), expected);
      for (const call of cases) if (call.fetch === undefined) await check(model, call);
    });
    for (const { fetch, inputs, outputs, tolerance } of cases) {
      if (fetch === undefined) continue;
      const fed = toTensors(inputs);
      const results = model.execute(fed, fetch) as tf.Tensor[];
      for (const [i, name] of fetch.entries()) {
        expect(await mismatch(results[i]!, outputs[name]!, tolerance), name).to.equal(null);
      }
      tf.dispose([fed, results]);
    }
    model.dispose();
  });

  it('with a loop over a variable are refused, and serve as before', async () => {
    const { folder, cases } = readFixture('saved_models', 'while_loop');
    const model = await node.loadSavedModel(folder);
    const sample = toTensors(cases[0]!.inputs);
    const error = await errorOf(() => build(model, { inputs: [sample] }));
    expect(error.code, error.message).to.equal('TFTRT_NOT_FREEZABLE');
    for (const call of cases) await check(model, call);
    tf.dispose(sample);
    model.dispose();
  });

  const TABLES: Array<[what: string, kind: FixtureKind, name: string]> = [
    ['a table filled by constants', 'saved_models', 'table_and_layers'],
    ['a table filled from a file', 'saved_models', 'asset_and_layers'],
    ['a graph model with an initialiser graph', 'graph_models', 'table_and_layers'],
  ];
  for (const [what, kind, name] of TABLES) {
    it(`with layers behind ${what}: the layers become an engine, the table stays in TensorFlow`, async () => {
      const { folder, cases } = readFixture(kind, name);
      const model =
        kind === 'saved_models'
          ? await node.loadSavedModel(folder)
          : await tf.loadGraphModel(`file://${folder}/model.json`);
      const two = () => ({
        word: tf.tensor1d(['three', 'unknown'], 'string'),
        x: tensorOf(disorder([2, 16], 4)),
      });
      const expected = await run(model, two());
      const calls = cases.filter(({ inputs }) => inputs.word!.values.length > 0);
      const samples = calls.map(({ inputs }) => toTensors(inputs));
      const range = { word: { min: [1], max: [3] }, x: { min: [1, 16], max: [3, 16] } };
      const report = await build(model, { inputs: samples, profiles: [range] });
      tf.dispose(samples);
      expectEngine(report);
      const lookup = report.native.find(({ op }) => op === 'LookupTableFindV2');
      expect(lookup?.reason, 'why the table stays').to.be.a('string').that.is.not.empty;
      await byEngines(async () => {
        for (const call of calls) await check(model, call);
        expectNear(await run(model, two()), expected);
      });
      model.dispose();
    });
  }
});
