import path from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { bytesAttr } from '#src/program/graph_def';
import { FLOAT, floats, graphModel, ints, node, placeholder } from '../gpu/graphs';
import {
  exceedsInt32,
  type Fixture,
  mismatch,
  readFixture,
  readFixtures,
  registerFixtureOps,
  toTensors,
} from '../support/fixtures';
import { live, onTftrt } from '../support/tftrt';

const ONES = { list: { i: ['1', '1', '1', '1'] } };

/** Every fixture, by its own outputs of Python's TensorFlow: nothing is left out, whatever tfjs's executor can do. */
describe('graph models as callables', () => {
  onTftrt();
  let deregister: () => void;
  before(() => {
    deregister = registerFixtureOps();
  });
  after(() => deregister());

  for (const fixture of readFixtures('graph_models')) {
    for (const mode of ['execute', 'executeAsync'] as const) {
      // Python's answers may be wider than int32; then tftrt must refuse them, which is tested elsewhere.
      it(`${fixture.name}: ${fixture.about} (${mode})`, () => check(fixture, mode));
    }
  }

  it('take empty inputs, also to ops that tfjs only runs asynchronously', async () => {
    const model = await graphModel(
      [
        placeholder('boxes', [-1, 4]),
        placeholder('scores', [-1]),
        node('y', 'NonMaxSuppressionV3', ['boxes', 'scores', 'most', 'overlap', 'least'], {
          T: FLOAT,
          T_threshold: FLOAT,
        }),
      ],
      { most: ints([], 5), overlap: floats([], 0.5), least: floats([], 0.1) },
    );
    for (const count of [2, 0]) {
      const inputs = { boxes: tf.ones([count, 4]), scores: tf.ones([count]) };
      const outputs = [model.execute(inputs), await model.executeAsync(inputs)] as tf.Tensor[];
      for (const output of outputs)
        expect(Array.from(output.dataSync())).to.deep.equal(count > 0 ? [0, 1] : []);
      tf.dispose([inputs, outputs]);
    }
    model.dispose();
  });

  for (const activation of ['Relu', 'Relu6', 'Elu']) {
    for (const op of ['_FusedConv2D', 'FusedDepthwiseConv2dNative', '_FusedMatMul']) {
      it(`keep NaN through ${op} with ${activation}`, async () => {
        const dense = op === '_FusedMatMul';
        const depthwise = op === 'FusedDepthwiseConv2dNative';
        const shape = dense ? [2, 2] : [1, 1, 2, depthwise ? 1 : 2];
        const count = shape.reduce((product, size) => product * size, 1);
        const attr = {
          T: FLOAT,
          fused_ops: { list: { s: [bytesAttr('BiasAdd').s!, bytesAttr(activation).s!] } },
          num_args: { i: '1' },
          ...(dense
            ? { transpose_a: { b: false }, transpose_b: { b: false } }
            : { strides: ONES, dilations: ONES, padding: bytesAttr('SAME'), data_format: bytesAttr('NHWC') }),
        };
        const model = await graphModel(
          [placeholder('x', dense ? [-1, 2] : [-1, 1, 1, 2]), node('y', op, ['x', 'w', 'b'], attr)],
          { w: floats(shape, ...Array<number>(count).fill(1)), b: floats([2], 0, 0) },
        );
        const x = tf.tensor([Number.NaN, Number.NaN, 1, 2], dense ? [2, 2] : [2, 1, 1, 2]);
        const y = model.predict(x) as tf.Tensor;
        const expected = [Number.NaN, Number.NaN, ...(depthwise ? [1, 2] : [3, 3])];
        expect(Array.from(await y.data())).to.deep.equal(expected);
        tf.dispose([x, y]);
        model.dispose();
      });
    }
  }

  it('are the same for maps of inputs in any order', async () => {
    const fixture = readFixture('graph_models', 'two_inputs');
    const model = await tf.loadGraphModel(`file://${path.join(fixture.folder, 'model.json')}`);
    const { a, z } = toTensors(fixture.cases[0]!.inputs) as { a: tf.Tensor; z: tf.Tensor };
    const before_ = live().callables;
    for (const inputs of [
      { a, z },
      { z, a },
    ]) {
      const outputs = model.execute(inputs, model.outputNodes) as tf.Tensor[];
      for (const [i, wanted] of Object.values(fixture.cases[0]!.outputs).entries()) {
        expect(await mismatch(outputs[i]!, wanted, 1e-4)).to.equal(null);
      }
      tf.dispose(outputs);
    }
    expect(live().callables).to.equal(before_ + 1);
    tf.dispose([a, z]);
    model.dispose();
  });

  it('bind what is given, whatever the calls before', async () => {
    const model = await graphModel([
      placeholder('a', [-1]),
      placeholder('b', [-1]),
      node('difference', 'Sub', ['a', 'b']),
      node('quotient', 'RealDiv', ['a', 'b']),
    ]);
    const [six, two] = [tf.tensor1d([6]), tf.tensor1d([2])];
    const pair = tf.tensor1d([6, 8]);
    const values = (inputs: tf.Tensor[] | tf.NamedTensorMap, outputs?: string | string[]) =>
      tf.tidy(() => [model.execute(inputs, outputs!)].flat().map((output) => [...output.dataSync()]));
    for (let round = 0; round < 2; round++) {
      expect(values([six, two])).to.deep.equal([[4], [3]]);
      expect(values([six, two], null as unknown as string)).to.deep.equal([[4], [3]]);
      expect(values([two, six], 'difference')).to.deep.equal([[-4]]);
      expect(values([six, six])).to.deep.equal([[0], [1]]);
      expect(values({ b: six, a: two }, ['difference'])).to.deep.equal([[-4]]);
      expect(values({ a: six, b: two }, ['quotient', 'difference'])).to.deep.equal([[3], [4]]);
      expect(values({ b: two, a: pair }, 'quotient')).to.deep.equal([[3, 4]]);
      expect(values([two, pair], 'a:0')).to.deep.equal([[2]]);
    }
    tf.dispose([six, two, pair]);
    model.dispose();
  });

  it('are counted by what served', async () => {
    const served = () => {
      const { tensorflow, tensorrt, cudaGraphs } = tftrt.stats().tiers;
      return tensorflow + tensorrt + cudaGraphs;
    };
    const model = await tf.loadGraphModel(`file://${readFixture('graph_models', 'small_cnn').folder}`);
    const x = tf.zeros([1, 16, 16, 3]);
    const before_ = served();
    tf.dispose([model.predict(x), await model.predictAsync(x)]);
    expect(served() - before_).to.equal(2);
    tf.dispose(x);
    model.dispose();
  });
});

async function check(fixture: Fixture, mode: 'execute' | 'executeAsync'): Promise<void> {
  const before_ = live();
  const model = await tf.loadGraphModel(`file://${path.join(fixture.folder, 'model.json')}`);
  for (const call of fixture.cases) {
    const names = call.fetch ?? model.outputNodes;
    const inputs = toTensors(call.inputs);
    const result = await model[mode](inputs, names);
    const outputs = Array.isArray(result) ? result : [result];
    const expected = Object.values(call.outputs);
    expect(outputs.length, `${call.name}: number of outputs`).to.equal(expected.length);
    for (const [i, output] of outputs.entries()) {
      const wanted = expected[i]!;
      expect(exceedsInt32(wanted), 'fixture fits int32').to.equal(false);
      expect(await mismatch(output, wanted, call.tolerance), `${call.name}, output ${names[i]}`).to.equal(
        null,
      );
    }
    tf.dispose([inputs, outputs]);
  }
  model.dispose();
  expect(live()).to.deep.equal(before_);
}
