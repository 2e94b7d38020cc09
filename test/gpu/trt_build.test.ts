import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import { errorOf, onTftrt } from '../support/tftrt';
import { type BuildOptions, build, byEngines, expectEngine } from './api';
import { convolutions, denseModel, disorder, graphModel, node, placeholder, tensorOf } from './graphs';
import { predict, relativeError } from './outcome';

/** Building: what goes on meanwhile, and its options. */
describe('TensorRT: builds', function () {
  this.timeout(300_000);
  onTftrt();

  it('predictions during a build are right and never wait long, and the event loop turns', async function () {
    this.timeout(600_000); // beside other builds, one takes minutes
    const model = await convolutions();
    const x = tensorOf(disorder([1, 24, 24, 8], 99));
    const { values: expected } = await predict(model, x.clone());

    let building = true;
    const stages = new Set<string>();
    const started = performance.now();
    const built = build(model, {
      precision: 'FP16',
      inputs: [x],
      cache: false,
      onProgress: ({ stage }) => stages.add(stage),
    }).finally(() => {
      building = false;
    });
    let slowest = 0;
    let predictions = 0;
    let worst = 0;
    while (building) {
      const begun = performance.now();
      const { values } =
        predictions % 2 === 0 ? await predict(model, x.clone()) : await predictAsync(model, x);
      slowest = Math.max(slowest, performance.now() - begun);
      worst = Math.max(worst, relativeError(values, expected));
      predictions++;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const report = await built;
    const seconds = (performance.now() - started) / 1000;
    // The last ones may be the engine's.
    expect(worst).to.be.at.most(1e-2);
    expect(predictions, `predictions within ${seconds} s`).to.be.at.least(10 * Math.min(seconds, 10));
    expect(slowest, `ms, the slowest of ${predictions} predictions within ${seconds} s`).to.be.below(500);
    expect(stages.size, 'stages of progress').to.be.above(0);
    expectEngine(report);
    const { values } = await byEngines(() => predict(model, x));
    expect(relativeError(values, expected)).to.be.at.most(1e-2);
    model.dispose();
  });

  it('the faster one serves, and the report says which; with `force` the engine does', async () => {
    const model = await convolutions();
    const x = tensorOf(disorder([1, 24, 24, 8], 99));
    const chosen = await build(model, { inputs: [x], force: false });
    const { tensorflow, tensorrt } = chosen.latencyMs!;
    expect(chosen.serving, chosen.toString()).to.equal(tensorrt <= tensorflow ? 'tensorrt' : 'tensorflow');
    expect(chosen.reason).to.match(chosen.serving === 'tensorrt' ? /faster/ : /TensorFlow was faster/);
    const forced = await build(model, { inputs: [x], force: true });
    expectEngine(forced);
    await byEngines(() => predict(model, x));
    model.dispose();
  });

  for (const maxWorkspaceSizeBytes of [1 << 20, 2 ** 32]) {
    it(`a workspace of at most ${maxWorkspaceSizeBytes} bytes`, async () => {
      const model = await convolutions();
      const x = tensorOf(disorder([1, 24, 24, 8], 99));
      const { values: expected } = await predict(model, x.clone());
      expectEngine(await build(model, { inputs: [x], maxWorkspaceSizeBytes, cache: false }));
      const { values } = await byEngines(() => predict(model, x));
      expect(relativeError(values, expected)).to.be.at.most(1e-4);
      model.dispose();
    });
  }

  const wrong: Array<[string, object]> = [
    ['an unknown precision', { precision: 'FP8' }],
    ['an unknown option', { maxWorkspace: 1 }],
    ['a negative workspace', { maxWorkspaceSizeBytes: -1 }],
    ['a workspace that is no whole number', { maxWorkspaceSizeBytes: 1.5 }],
    ['segments of no node', { minimumSegmentSize: 0 }],
    ['segments of half a node', { minimumSegmentSize: 3.5 }],
    ['an output that is not there', { outputs: ['nonsense'] }],
    ['a tolerance below zero', { tolerance: -1 }],
    ['a tolerance that is no number', { tolerance: Number.NaN }],
  ];
  for (const [what, options] of wrong) {
    it(`${what} is refused, and the model works on`, async () => {
      const { model, expected } = await denseModel({ batch: 2 });
      const x = disorder([2, 8]);
      const all = { inputs: [tensorOf(x)], ...options } as BuildOptions;
      const error = await errorOf(() => build(model, all));
      expect(error.code, error.message).to.match(/^TFTRT_(INVALID_ARGUMENT|NOT_FOUND)$/);
      expect((await predict(model, tensorOf(x))).values).to.deep.equal(expected(x.values));
      model.dispose();
    });
  }

  it('an open batch is one where neither inputs nor profiles say more; another open size is refused', async () => {
    const { model } = await denseModel();
    expect((await build(model, {})).profiles.map(({ shapes }) => shapes)).to.deep.equal([[[[1, 8]]]]);
    model.dispose();
    const open = await graphModel([
      placeholder('x', [-1, -1]),
      node('relu', 'Relu', ['x']),
      node('y', 'Neg', ['relu']),
    ]);
    expect((await errorOf(() => build(open, {}))).code).to.equal('TFTRT_INVALID_ARGUMENT');
    open.dispose();
  });

  it('an engine that errs by more than the tolerance does not serve, not even with `force`', async () => {
    const model = await convolutions();
    const x = tensorOf(disorder([1, 24, 24, 8], 99));
    const { values: expected } = await predict(model, x.clone());
    const report = await build(model, { precision: 'FP16', inputs: [x], tolerance: 1e-12, force: true });
    expect(report.serving).to.equal('tensorflow');
    expect(report.reason).to.include('more than the tolerance');
    const { values } = await predict(model, x);
    expect(relativeError(values, expected)).to.be.at.most(1e-5);
    model.dispose();
  });

  it('sample inputs that are disposed of, or of a wrong shape, are refused', async () => {
    const { model, expected } = await denseModel({ batch: 2 });
    const gone = tf.ones([2, 8]);
    gone.dispose();
    for (const input of [gone, tf.ones([2, 9]), tf.ones([16])]) {
      await errorOf(() => build(model, { inputs: [input] }));
    }
    const x = disorder([2, 8]);
    expect((await predict(model, tensorOf(x))).values).to.deep.equal(expected(x.values));
    model.dispose();
  });
});

async function predictAsync(model: tf.GraphModel, x: tf.Tensor): Promise<{ values: number[] }> {
  const y = (await model.predictAsync(x)) as tf.Tensor;
  const values = Array.from(await y.data());
  y.dispose();
  return { values };
}
