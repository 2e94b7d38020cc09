import fs from 'node:fs';
import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { readFixture } from '../support/fixtures';
import { runInPlainTensorFlow } from '../support/plain_tensorflow';
import { live, onTftrt } from '../support/tftrt';
import { build, byEngines, expectEngine } from './api';
import { disorder, tensorOf } from './graphs';
import { relativeError } from './outcome';

const bytesOf = (name: string) =>
  new Uint8Array(fs.readFileSync(`${readFixture('frozen_graphs', name).folder}.pb`));

/** Frozen graphs in, frozen graphs with engines out. */
describe('TensorRT: createInferenceGraph', function () {
  this.timeout(600_000);
  onTftrt();

  const source = bytesOf('layers');
  const outputs = ['probabilities', 'product'];
  const feed = (batch: number) => ({
    image: tensorOf(disorder([batch, 8, 8, 3], batch)),
    'input/scale': tf.scalar(1.5),
  });

  async function valuesOf(model: tftrt.FrozenGraph, batch: number): Promise<number[][]> {
    const inputs = feed(batch);
    const results = model.predict(inputs) as tf.NamedTensorMap;
    const values = await Promise.all(outputs.map(async (name) => [...(await results[name]!.data())]));
    tf.dispose([inputs, results]);
    return values;
  }

  /** The worst error of the converted graph for batches, some of which are beyond the engines'. */
  async function worstError(converted: Uint8Array): Promise<number> {
    const [before_, after_] = [
      await tftrt.loadFrozenGraph(source, { outputs }),
      await tftrt.loadFrozenGraph(converted, { outputs }),
    ];
    expect(after_.inputs).to.deep.equal(before_.inputs);
    expect(after_.outputs.map(({ name, dtype }) => [name, dtype])).to.deep.equal(
      before_.outputs.map(({ name, dtype }) => [name, dtype]),
    );
    let worst = 0;
    for (const batch of [4, 1, 3, 6]) {
      const expected = await valuesOf(before_, batch);
      // Often enough that CUDA graphs would be recorded.
      for (let i = 0; i < 12; i++) {
        for (const [j, values] of (await valuesOf(after_, batch)).entries()) {
          worst = Math.max(worst, relativeError(values, expected[j]!));
        }
      }
    }
    before_.dispose();
    after_.dispose();
    return worst;
  }

  for (const [precisionMode, tolerance] of [
    ['FP32', 1e-4],
    ['FP16', 1e-2],
    ['INT8', 0.3],
  ] as const) {
    it(`${precisionMode}: runs as the original, for all batches`, async () => {
      const before_ = live();
      const samples = precisionMode === 'INT8' ? [feed(4), feed(4)] : undefined;
      const stages = new Set<string>();
      const converted = await tftrt.createInferenceGraph(source, outputs, {
        maxBatchSize: 4,
        maxWorkspaceSizeBytes: 1 << 28,
        precisionMode,
        ...(samples && { calibration: { inputs: samples } }),
        onProgress: ({ stage }) => stages.add(stage),
      });
      expect(Buffer.from(converted).includes('TRTEngineOp')).to.equal(true);
      expect(converted.length).to.be.above(source.length);
      expect(stages.has('building')).to.equal(true);
      expect(await worstError(converted)).to.be.at.most(tolerance);
      tf.dispose((samples ?? []) as unknown as tf.TensorContainer);
      expect(live()).to.deep.equal(before_);
    });
  }

  it('runs in TensorFlow alone, by its engines', async () => {
    const converted = await tftrt.createInferenceGraph(source, outputs, { maxBatchSize: 4 });
    const model = await tftrt.loadFrozenGraph(source, { outputs });
    const expected = await valuesOf(model, 4);
    const inputs = feed(4);
    const { values, log } = await runInPlainTensorFlow(converted, inputs, outputs);
    for (const [i, name] of outputs.entries()) {
      // What is not in an engine is computed in TF32 there.
      expect(relativeError(values[i]!, expected[i]!), name).to.be.at.most(5e-3);
    }
    expect(log, 'the log').to.match(/GPU:0/);
    expect(log, 'the log').to.not.match(/native segment/i);
    tf.dispose(inputs);
    model.dispose();
  });

  it('graphs of several conversions run side by side', async () => {
    const [one, two] = [
      await tftrt.createInferenceGraph(source, ['product'], { maxBatchSize: 2 }),
      await tftrt.createInferenceGraph(source, ['probabilities'], { maxBatchSize: 2 }),
    ];
    const names = (bytes: Uint8Array) =>
      new Set(
        Buffer.from(bytes)
          .toString('latin1')
          .match(/TRTEngineOp_\w+/g),
      );
    expect(names(one).size).to.be.above(0);
    const models = [
      await tftrt.loadFrozenGraph(one, { outputs: ['product'] }),
      await tftrt.loadFrozenGraph(two, { outputs: ['probabilities'] }),
      await tftrt.loadFrozenGraph(source, { outputs }),
    ];
    const { image, 'input/scale': scale } = feed(2);
    const read = async (tensor: unknown) => [...(await (tensor as tf.Tensor).data())];
    const product = await read(models[0]!.predict(image));
    const [second] = models[1]!.predict([image, scale]) as tf.Tensor[];
    const probabilities = await read(second);
    const [y, p] = models[2]!.predict([image, scale]) as tf.Tensor[];
    expect(relativeError(probabilities, await read(y))).to.be.at.most(1e-4);
    expect(relativeError(product, await read(p))).to.be.at.most(1e-4);
    for (const model of models) model.dispose();
  });

  it('a graph that was converted is not converted again, nor built', async () => {
    const converted = await tftrt.createInferenceGraph(source, outputs, { maxBatchSize: 2 });
    const failures = [];
    failures.push(await tftrt.createInferenceGraph(converted, outputs).catch((error) => error));
    const model = await tftrt.loadFrozenGraph(converted, { outputs });
    failures.push(await tftrt.build(model).catch((error) => error));
    model.dispose();
    expect(failures.map(({ code }) => code)).to.deep.equal([
      'TFTRT_INVALID_ARGUMENT',
      'TFTRT_INVALID_ARGUMENT',
    ]);
  });

  it('build takes a frozen graph', async () => {
    const model = await tftrt.loadFrozenGraph(source, { outputs });
    const expected = await valuesOf(model, 4);
    expectEngine(await build(model, { inputs: [feed(4)] }));
    for (const [j, values] of (await byEngines(() => valuesOf(model, 4))).entries()) {
      expect(relativeError(values, expected[j]!)).to.be.at.most(1e-3);
    }
    model.dispose();
  });
});
