import fs from 'node:fs';
import '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { exceedsInt32, mismatch, readFixture, readFixtures, toTensors } from '../support/fixtures';
import { cleanErrorOf, errorOf, live, onTftrt } from '../support/tftrt';

const bytesOf = (name: string) =>
  new Uint8Array(fs.readFileSync(`${readFixture('frozen_graphs', name).folder}.pb`));

describe('frozen graphs', () => {
  onTftrt();

  for (const fixture of readFixtures('frozen_graphs')) {
    for (const call of fixture.cases) {
      for (const async of [false, true]) {
        it(`${fixture.name}, ${call.name}${async ? ', off the event loop' : ''}`, async () => {
          const before_ = live();
          const outputs = call.fetch!;
          const model = await tftrt.loadFrozenGraph(bytesOf(fixture.name), {
            inputs: Object.keys(call.inputs),
            outputs,
          });
          const inputs = toTensors(call.inputs);
          const results = (
            async ? await model.predictAsync(inputs) : model.predict(inputs)
          ) as tf.NamedTensorMap;
          expect(Object.keys(results)).to.deep.equal(outputs);
          for (const name of outputs) {
            const wanted = call.outputs[name]!;
            expect(exceedsInt32(wanted)).to.equal(false);
            expect(await mismatch(results[name]!, wanted, call.tolerance), name).to.equal(null);
          }
          tf.dispose([inputs, results]);
          model.dispose();
          expect(live()).to.deep.equal(before_);
        });
      }
    }
  }

  it('finds its Placeholders, and tells names, dtypes and shapes', async () => {
    const model = await tftrt.loadFrozenGraph(bytesOf('layers'), { outputs: ['probabilities', 'best:1'] });
    expect(model.inputs).to.deep.equal([
      { name: 'image', dtype: 'float32', tfDtype: 'DT_FLOAT', shape: [-1, 8, 8, 3] },
      { name: 'input/scale', dtype: 'float32', tfDtype: 'DT_FLOAT', shape: [] },
    ]);
    expect(model.outputs).to.deep.equal([
      { name: 'probabilities', dtype: 'float32', tfDtype: 'DT_FLOAT', shape: [-1, 5] },
      { name: 'best:1', dtype: 'int32', tfDtype: 'DT_INT32', shape: [-1, 2] },
    ]);
    expect(model.outputNodeNames).to.deep.equal({ probabilities: 'probabilities:0', 'best:1': 'best:1' });
    model.dispose();

    const wide = await tftrt.loadFrozenGraph(bytesOf('dtypes'), {
      outputs: ['half', 'more', 'twice', 'not'],
    });
    expect(wide.inputs.map(({ name, dtype, tfDtype, shape }) => [name, dtype, tfDtype, shape])).to.deep.equal(
      [
        ['bytes', 'int32', 'DT_UINT8', [-1]],
        ['count', 'int32', 'DT_INT64', undefined],
        ['text', 'string', 'DT_STRING', [2]],
        ['flag', 'bool', 'DT_BOOL', []],
      ],
    );
    expect(wide.outputs.map(({ dtype, tfDtype }) => [dtype, tfDtype])).to.deep.equal([
      ['float32', 'DT_HALF'],
      ['int32', 'DT_INT64'],
      ['string', 'DT_STRING'],
      ['bool', 'DT_BOOL'],
    ]);
    wide.dispose();
  });

  it('needs only the Placeholders of its outputs', async () => {
    const model = await tftrt.loadFrozenGraph(bytesOf('layers'), { outputs: ['hidden/relu'] });
    expect(model.inputs.map(({ name }) => name)).to.deep.equal(['image']);
    model.dispose();
  });

  it('binds a list in the order of the inputs, and runs to other nodes', async () => {
    const model = await tftrt.loadFrozenGraph(bytesOf('layers'), {
      inputs: ['input/scale', 'image'],
      outputs: ['probabilities'],
    });
    const inputs = [tf.scalar(1), tf.ones([1, 8, 8, 3])];
    const [y] = model.predict(inputs) as tf.Tensor[];
    expect(y!.shape).to.deep.equal([1, 5]);
    const [pooled, again] = model.execute(inputs, ['pooled', 'probabilities']) as tf.Tensor[];
    expect(pooled!.shape).to.deep.equal([1, 4]);
    expect([...again!.dataSync()]).to.deep.equal([...y!.dataSync()]);
    const unknown = await errorOf(() => model.execute(inputs, 'nowhere'));
    expect(unknown.code).to.equal('TFTRT_UNKNOWN_OUTPUT');
    tf.dispose([inputs, y!, pooled!, again!]);
    model.dispose();
    expect((await errorOf(() => model.predict([]))).code).to.equal('TFTRT_MODEL_DISPOSED');
  });

  it('runs what needs no variable of a graph that has one', async () => {
    const model = await tftrt.loadFrozenGraph(bytesOf('unfrozen'), { outputs: ['z'] });
    const z = model.predict(tf.tensor1d([1, -2])) as tf.Tensor;
    expect([...z.dataSync()]).to.deep.equal([3, -6]);
    z.dispose();
    model.dispose();
  });

  const savedModel = () =>
    new Uint8Array(fs.readFileSync(`${readFixture('saved_models', 'two_inputs').folder}/saved_model.pb`));
  const text = new TextEncoder().encode('node { name: "x" op: "Placeholder" }');
  const refusals: Array<[string, () => Uint8Array, tftrt.FrozenGraphOptions, string, string[]]> = [
    ['no bytes', () => new Uint8Array(), { outputs: ['y'] }, 'TFTRT_INVALID_GRAPH_DEF', ['0 bytes']],
    ['text', () => text, { outputs: ['x'] }, 'TFTRT_INVALID_GRAPH_DEF', ['.pbtxt']],
    ['a SavedModel', savedModel, { outputs: ['y'] }, 'TFTRT_INVALID_GRAPH_DEF', ['loadSavedModel']],
    [
      'half a graph',
      () => bytesOf('layers').slice(0, 700),
      { outputs: ['probabilities'] },
      'TFTRT_INVALID_GRAPH_DEF',
      ['700 bytes'],
    ],
    [
      'an output that is not there',
      () => bytesOf('layers'),
      { outputs: ['nowhere'], label: 'my graph' },
      'TFTRT_UNKNOWN_OUTPUT',
      ["'nowhere'", 'my graph', 'probabilities'],
    ],
    [
      'the third output of a node that has two',
      () => bytesOf('layers'),
      { outputs: ['best:2'] },
      'TFTRT_UNKNOWN_OUTPUT',
      ['best'],
    ],
    [
      'a control edge as output',
      () => bytesOf('layers'),
      { outputs: ['^best'] },
      'TFTRT_UNKNOWN_OUTPUT',
      ['^best'],
    ],
    [
      'an input that is not there',
      () => bytesOf('layers'),
      { inputs: ['nowhere'], outputs: ['hidden/relu'] },
      'TFTRT_UNKNOWN_INPUT',
      ["'nowhere'"],
    ],
    [
      'too few inputs',
      () => bytesOf('layers'),
      { inputs: ['image'], outputs: ['probabilities'] },
      'TFTRT_MISSING_INPUT',
      ["'input/scale'", 'image'],
    ],
    [
      'a variable',
      () => bytesOf('unfrozen'),
      { outputs: ['y'] },
      'TFTRT_NOT_FROZEN',
      ["'weight'", 'loadSavedModel'],
    ],
  ];
  for (const [what, bytes, options, code, parts] of refusals) {
    it(`refuses ${what}`, async () => {
      const error = await cleanErrorOf(() => tftrt.loadFrozenGraph(bytes(), options));
      expect(error).to.be.instanceOf(tftrt.TftrtError);
      expect(error.code, error.message).to.equal(code);
      for (const part of parts) expect(error.message).to.include(part);
    });
  }

  it('refuses arguments of the wrong kind', async () => {
    const graph = bytesOf('layers');
    const wrong: unknown[][] = [
      [],
      ['graph.pb', { outputs: ['y'] }],
      [graph],
      [graph, { outputs: [] }],
      [graph, { outputs: 'probabilities' }],
      [graph, { outputs: ['best', 'best'] }],
      [graph, { outputs: [5] }],
      [graph, { inputs: 'image', outputs: ['probabilities'] }],
      [graph, { outputs: ['probabilities'], label: 7 }],
      [graph, { output: ['probabilities'], outputs: ['probabilities'] }],
      [graph, 'probabilities'],
    ];
    for (const given of wrong) {
      const error = await cleanErrorOf(() =>
        (tftrt.loadFrozenGraph as (...all: unknown[]) => unknown)(...given),
      );
      expect(error.code, JSON.stringify(given.slice(1))).to.equal('TFTRT_INVALID_ARGUMENT');
      expect(error.message).to.include('expected');
    }
  });

  it('refuses inputs of a wrong dtype or shape, and works on', async () => {
    const model = await tftrt.loadFrozenGraph(bytesOf('layers'), { outputs: ['pooled'] });
    const refused: Array<[tf.Tensor, string]> = [
      [tf.ones([1, 8, 8, 4]), '[-1,8,8,3]'],
      [tf.ones([8, 8, 3]), '[-1,8,8,3]'],
      [tf.ones([1, 8, 8, 3], 'int32'), 'float32'],
    ];
    for (const [input, expected] of refused) {
      const error = await cleanErrorOf(() => model.predict(input));
      expect(error.code).to.equal('TFTRT_INVALID_INPUT');
      expect(error.message).to.include("'image'").and.to.include(expected);
      input.dispose();
    }
    const y = model.predict(tf.zeros([2, 8, 8, 3])) as tf.Tensor;
    expect([...y.dataSync()]).to.deep.equal(new Array(8).fill(0));
    y.dispose();
    model.dispose();
  });

  it('is what build takes', async function () {
    if (tftrt.devices().some(({ type }) => type === 'GPU')) this.skip();
    const model = await tftrt.loadFrozenGraph(bytesOf('layers'), { outputs: ['pooled'] });
    const error = await cleanErrorOf(() => tftrt.build(model));
    expect(error.code).to.equal('TFTRT_TENSORRT_UNAVAILABLE');
    model.dispose();
  });
});
