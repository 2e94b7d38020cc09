import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import { errorOf, expectBack, live, onTftrt } from '../support/tftrt';
import { type BuildOptions, build, byEngines, type ConversionReport, expectEngine } from './api';
import {
  denseModel,
  disorder,
  FLOAT,
  floats,
  graphModel,
  INT,
  ints,
  node,
  placeholder,
  STRING,
  tensorOf,
} from './graphs';
import { predict } from './outcome';

/** Models beside each other, builds beside each other, and models of which TensorRT takes only a part. */
describe('TensorRT: models', function () {
  this.timeout(300_000);
  onTftrt();

  const x = disorder([4, 8], 3);
  let sample: tf.Tensor;
  let options: BuildOptions;
  before(() => {
    sample = tensorOf(x);
    options = { inputs: [sample] };
  });
  after(() => sample.dispose());

  it('of the same names and different weights have engines of their own', async () => {
    const models = [await denseModel({ seed: 1 }), await denseModel({ seed: 20 })];
    expect(models[0]!.expected(x.values)).to.not.deep.equal(models[1]!.expected(x.values));
    for (const { model } of models) {
      const report = await build(model, options);
      expectEngine(report);
    }
    await byEngines(async () => {
      for (const { model, expected } of [...models, ...models]) {
        expect((await predict(model, tensorOf(x))).values).to.deep.equal(expected(x.values));
      }
      // The second's engine outlives the first's.
      models[0]!.model.dispose();
      const { values } = await predict(models[1]!.model, tensorOf(x));
      expect(values).to.deep.equal(models[1]!.expected(x.values));
    });
    models[1]!.model.dispose();
  });

  it('of the same names, built at once', async () => {
    const models = await Promise.all([1, 20, 30].map((seed) => denseModel({ seed })));
    const reports = await Promise.all(models.map(({ model }) => build(model, { ...options, cache: false })));
    for (const [i, { model, expected }] of models.entries()) {
      expectEngine(reports[i]!);
      const { values } = await byEngines(() => predict(model, tensorOf(x)));
      expect(values).to.deep.equal(expected(x.values));
      model.dispose();
    }
  });

  it('built twice at once are right, whichever build is last', async () => {
    const { model, expected } = await denseModel();
    const results = await Promise.allSettled([
      build(model, { ...options, precision: 'FP32', cache: false }),
      build(model, { ...options, precision: 'FP16', cache: false }),
    ]);
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason.code, result.reason.message).to.match(/^TFTRT_/);
    }
    expect(results.some(({ status }) => status === 'fulfilled')).to.equal(true);
    // Halves and their short sums are exact in float16 too.
    const { values } = await byEngines(() => predict(model, tensorOf(x)));
    expect(values).to.deep.equal(expected(x.values));
    model.dispose();
  });

  it('built again take the new engine', async () => {
    const { model, expected } = await denseModel();
    for (const precision of ['FP16', 'FP32', 'FP16'] as const) {
      const report = await build(model, { ...options, precision });
      expect(report.precision).to.equal(precision);
      expectEngine(report);
      expect(report.engines.map((engine) => engine.precision)).to.deep.equal([precision]);
      const { values } = await byEngines(() => predict(model, tensorOf(x)));
      expect(values).to.deep.equal(expected(x.values));
    }
    model.dispose();
  });

  it('leave nothing behind when they are disposed of', async () => {
    const cycle = async () => {
      const { model } = await denseModel();
      expectEngine(await build(model, options));
      await predict(model, tensorOf(x));
      model.dispose();
    };
    await cycle();
    const before_ = live();
    await cycle();
    await expectBack(live, before_, 'after another model');
  });

  it('that are disposed of cannot be built', async () => {
    const { model } = await denseModel();
    model.dispose();
    expect((await errorOf(() => build(model, options))).code).to.equal('TFTRT_MODEL_DISPOSED');
  });

  it('with non-maximum suppression: it stays in TensorFlow, and the report says why', async () => {
    const model = await graphModel(
      [
        placeholder('boxes', [3, 4]),
        placeholder('scores', [3]),
        node('relu', 'Relu', ['boxes']),
        node('doubled', 'Mul', ['relu', 'two']),
        node('halved', 'Mul', ['doubled', 'half']),
        node('nms', 'NonMaxSuppressionV3', ['halved', 'scores', 'size', 'overlap', 'least'], {
          T: FLOAT,
          T_threshold: FLOAT,
        }),
      ],
      {
        two: floats([], 2),
        half: floats([], 0.5),
        size: ints([], 3),
        overlap: floats([], 0.5),
        least: floats([], 0),
      },
    );
    const inputs = {
      boxes: tf.tensor2d([0, 0, 1, 1, 0, 0, 1, 0.9, 2, 2, 3, 3], [3, 4]),
      scores: tf.tensor1d([0.6, 0.9, 0.5]),
    };
    const report = await build(model, { inputs: [inputs] });
    expectNative(report, 'NonMaxSuppressionV3');
    const kept = model.execute(inputs, 'nms') as tf.Tensor;
    expect(Array.from(await kept.data())).to.deep.equal([1, 2]);
    tf.dispose([inputs, kept]);
    model.dispose();
  });

  it('with control flow: it stays in TensorFlow, and the report says why', async () => {
    // y = 2·relu(x), then tripled while its sum is below 100.
    const model = await graphModel(
      [
        placeholder('x', [2, 2]),
        node('relu', 'Relu', ['x']),
        node('sum', 'AddV2', ['relu', 'relu']),
        node('start', 'Mul', ['sum', 'one']),
        node('loop', 'StatelessWhile', ['start'], {
          T: { list: { type: ['DT_FLOAT'] } },
          cond: { func: { name: 'is_small' } },
          body: { func: { name: 'triple' } },
          output_shapes: { list: {} },
          parallel_iterations: { i: 10 },
        }),
        node('y', 'Identity', ['loop']),
      ],
      { one: floats([], 1) },
      { function: [IS_SMALL, TRIPLE] },
    );
    const input = tf.tensor2d([1, -2, 3, 4], [2, 2]);
    const report = await build(model, { inputs: [input] });
    expectNative(report, /While/);
    const y = (await model.executeAsync(input)) as tf.Tensor;
    // [2, 0, 6, 8] sums to 16, tripled twice it is 144.
    expect(Array.from(await y.data())).to.deep.equal([18, 0, 54, 72]);
    tf.dispose([input, y]);
    model.dispose();
  });

  it('with strings: they stay in TensorFlow, and the report says why', async () => {
    const model = await graphModel(
      [
        placeholder('words', [3], STRING),
        placeholder('x', [3]),
        node('bucket', 'StringToHashBucketFast', ['words'], { num_buckets: { i: 3 } }),
        node('number', 'Cast', ['bucket'], { SrcT: { type: 'DT_INT64' }, DstT: FLOAT }),
        node('sum', 'AddV2', ['number', 'x']),
        node('relu', 'Relu', ['sum']),
        node('y', 'Mul', ['relu', 'two']),
      ],
      { two: floats([], 2) },
    );
    const inputs = {
      words: tf.tensor1d(['Hello', 'TensorFlow', '2.x'], 'string'),
      x: tf.tensor1d([-5, 1, 2]),
    };
    const report = await build(model, { inputs: [inputs] });
    expectNative(report, 'StringToHashBucketFast');
    const y = model.execute(inputs, 'y') as tf.Tensor;
    // Python's TensorFlow hashes the words to 0, 2, 2.
    expect(Array.from(await y.data())).to.deep.equal([0, 6, 8]);
    tf.dispose([inputs, y]);
    model.dispose();
  });

  it('without anything for TensorRT stay in TensorFlow, and the report says so', async () => {
    const model = await graphModel([placeholder('x', [4, 8]), node('y', 'Relu', ['x'])]);
    const report = await build(model, options);
    expect(report.serving).to.equal('tensorflow');
    expect(report.reason).to.be.a('string').that.is.not.empty;
    const { values } = await predict(model, tensorOf(x));
    expect(values).to.deep.equal(Array.from(x.values, (value) => Math.max(0, value)));
    model.dispose();
  });
});

function expectNative(report: ConversionReport, op: string | RegExp): void {
  const entry = report.native.find((native) =>
    typeof op === 'string' ? native.op === op : op.test(native.op),
  );
  expect(entry, `${op} among ${JSON.stringify(report.native)}`).to.not.equal(undefined);
  expect(entry!.count).to.equal(1);
  expect(entry!.reason).to.be.a('string').that.is.not.empty;
}

const scalarConst = (name: string, value: number) => ({
  name,
  op: 'Const',
  attr: { dtype: FLOAT, value: { tensor: { dtype: 'DT_FLOAT', tensorShape: {}, floatVal: [value] } } },
});

const AXES = {
  name: 'axes',
  op: 'Const',
  attr: {
    dtype: INT,
    value: { tensor: { dtype: 'DT_INT32', tensorShape: { dim: [{ size: '2' }] }, intVal: [0, 1] } },
  },
};

const IS_SMALL = {
  signature: {
    name: 'is_small',
    inputArg: [{ name: 'value', type: 'DT_FLOAT' }],
    outputArg: [{ name: 'small', type: 'DT_BOOL' }],
  },
  nodeDef: [
    AXES,
    scalarConst('limit', 100),
    node('total', 'Sum', ['value', 'axes:output:0'], { T: FLOAT, Tidx: INT, keep_dims: { b: false } }),
    node('less', 'Less', ['total:output:0', 'limit:output:0']),
  ],
  ret: { small: 'less:z:0' },
};

const TRIPLE = {
  signature: {
    name: 'triple',
    inputArg: [{ name: 'value', type: 'DT_FLOAT' }],
    outputArg: [{ name: 'tripled', type: 'DT_FLOAT' }],
  },
  nodeDef: [scalarConst('three', 3), node('product', 'Mul', ['value', 'three:output:0'])],
  ret: { tripled: 'product:z:0' },
};
