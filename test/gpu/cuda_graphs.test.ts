import fs from 'node:fs';
import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { mismatch, readFixture, toTensors } from '../support/fixtures';
import { expectBack, live, onTftrt } from '../support/tftrt';
import { expectSame, replays, upload, warmUp } from './capture';
import {
  convNet,
  denseNet,
  type Net,
  partsNet,
  pixelNet,
  predictSeed,
  take,
  tensors,
  twoByTwoNet,
  upsamplingNet,
  volumeNet,
} from './nets';
import { relativeError } from './outcome';

/** Kernels that TensorFlow chooses anew for a CUDA graph may add in another order. */
const TOLERANCE = 1e-5;
/** Fewer than the runs after which a model is captured. */
const SEEDS = [1, 2, 3, 4, 5];

const captured = () => tftrt.stats().capturedGraphs;

/** A captured model, with what TensorFlow gave before for the inputs of each seed. */
async function capturedModel(net: Net): Promise<{ model: tf.GraphModel; expected: Float32Array[] }> {
  const model = await net.load();
  const before = replays();
  const expected: Float32Array[] = [];
  for (const seed of SEEDS) expected[seed] = await predictSeed(model, net, seed);
  expect(replays(), 'replays before the capture').to.equal(before);
  await warmUp(model, () => tensors(net, 1));
  return { model, expected };
}

function expectClose(actual: Float32Array, expected: Float32Array, what: string): void {
  expect(relativeError(actual, expected), what).to.be.at.most(TOLERANCE);
}

describe('CUDA graphs', function () {
  this.timeout(120_000);
  onTftrt();

  const NETS = [
    denseNet(),
    denseNet({ rows: 1, width: 256, layers: 5, seed: 7 }),
    convNet(),
    convNet({ batch: 4, size: 40, channels: 32, layers: 2, seed: 9 }),
    twoByTwoNet(),
    pixelNet(),
    partsNet(),
    upsamplingNet(),
    volumeNet(),
  ];

  it('give their outputs to whoever reads them, early, late, twice or never', async () => {
    const net = denseNet();
    const { model, expected } = await capturedModel(net);
    const predict = (seed: number): tf.Tensor => {
      const inputs = tensors(net, seed);
      const output = model.predict(inputs) as tf.Tensor;
      tf.dispose(inputs);
      return output;
    };
    const check = (output: tf.Tensor, seed: number, how: string) =>
      expectClose(output.dataSync() as Float32Array, expected[seed]!, `seed ${seed}, ${how}`);
    const copies = () => tftrt.stats().transfers.deviceToHost.count;

    // From the second on they are copied to the host as a part of the run.
    for (const seed of SEEDS) {
      const output = predict(seed);
      check(output, seed, 'at once');
      check(output, seed, 'again');
      output.dispose();
    }
    // What was copied is not of the runs that followed.
    const begun = predict(4);
    const since = [predict(5), predict(1)];
    check(begun, 4, 'copied before others ran');
    check(since[0]!, 5, 'since');
    check(since[1]!, 1, 'since');
    tf.dispose([begun, ...since]);
    const early = copies();
    const neverRead = predict(1);
    expect(copies() - early, 'copies of a run whose outputs will be read').to.equal(1);
    const [first, second] = [predict(2), predict(3)];
    expect(copies() - early, 'copies of those that follow').to.equal(1);
    check(second, 3, 'before the one before it');
    check(first, 2, 'after the one after it');
    const computed = tf.add(neverRead, 1);
    const sums = [...expected[1]!].map((value) => value + 1);
    expectClose(computed.dataSync() as Float32Array, Float32Array.from(sums), 'computed with');
    tf.dispose([neverRead, first, second, computed]);

    // One that nobody read: the next is not expected to be.
    const late = copies();
    const outputs = [predict(4), predict(5)];
    expect(copies() - late).to.equal(0);
    expectClose((await outputs[1]!.data()) as Float32Array, expected[5]!, 'later');
    check(outputs[0]!, 4, 'later');
    tf.dispose(outputs);

    // Who has the pointer may write there: the values are those that are in the GPU's memory now.
    const shared = predict(2);
    shared.dataToGPU().tensorRef.dispose();
    const read = copies();
    check(shared, 2, 'after it was shared');
    expect(copies() - read).to.equal(1);
    shared.dispose();
    model.dispose();
  });

  for (const net of NETS) {
    it(`give what TensorFlow gave: ${net.name}`, async () => {
      const before_ = live();
      const graphs = captured();
      const { model, expected } = await capturedModel(net);
      expect(captured() - graphs).to.equal(1);
      const count = replays();
      for (const seed of SEEDS) {
        expectClose(await predictSeed(model, net, seed), expected[seed]!, `seed ${seed}, from the host`);
        const inputs = tensors(net, seed);
        for (const input of Object.values(inputs)) upload(input);
        expectClose(await take(model.predict(inputs)), expected[seed]!, `seed ${seed}, on the device`);
        expectClose(await take(await model.predictAsync(inputs)), expected[seed]!, `seed ${seed}, later`);
        tf.dispose(inputs);
      }
      expect(replays() - count, 'all by the CUDA graph').to.equal(3 * SEEDS.length);
      model.dispose();
      expect(captured(), 'after dispose').to.equal(graphs);
      await expectBack(live, before_, 'after dispose');
    });
  }

  it('are one for each set of shapes', async () => {
    const width = 64;
    const model = await denseNet({ width }).load();
    const nets = [1, 3, 16, 100].map((rows) => denseNet({ rows, width }));
    const graphs = captured();
    const expected: Float32Array[] = [];
    for (const net of nets) expected.push(await predictSeed(model, net, 5));
    for (const net of nets) await warmUp(model, () => tensors(net, 1));
    expect(captured() - graphs).to.equal(nets.length);
    for (let round = 0; round < 10; round++) {
      for (const [i, net] of nets.entries()) {
        expectClose(await predictSeed(model, net, 5), expected[i]!, net.name);
      }
    }
    model.dispose();
    expect(captured(), 'after dispose').to.equal(graphs);
  });

  it('are fed by values on the host once, by the same tensor again, and by aliases', async () => {
    const net = denseNet();
    const { model, expected } = await capturedModel(net);
    const { x } = tensors(net, 2) as { x: tf.Tensor2D };
    const values = Float32Array.from(await x.data());
    for (let i = 0; i < 3; i++) expectClose(await take(model.predict(x)), expected[2]!, `time ${i}`);
    expectSame((await x.data()) as Float32Array, values, 'the input');
    const wide = x.reshape([16, 16]);
    const again = wide.reshape(x.shape);
    expectClose(await take(model.predict(again)), expected[2]!, 'an alias');
    const doubled = tf.tidy(() => tf.mul(tf.mul(x, 2), 0.5)); // from an eager op, not waited for
    expectClose(await take(model.predict(doubled)), expected[2]!, "an op's output");
    tf.dispose([x, wide, again, doubled]);
    model.dispose();
  });

  it('are fed by tensors that are disposed of right after an asynchronous call', async () => {
    const net = denseNet();
    const { model, expected } = await capturedModel(net);
    for (let i = 0; i < 50; i++) {
      const seed = SEEDS[i % SEEDS.length]!;
      const inputs = tensors(net, seed);
      const running = model.predictAsync(inputs);
      tf.dispose(inputs);
      tf.tidy(() => tf.add(tf.ones([4, 64]), i)); // may take the input's memory
      expectClose(await take(await running), expected[seed]!, `${i}`);
    }
    model.dispose();
  });

  it('run several at a time, each with its own result', async () => {
    const nets = [denseNet(), convNet(), twoByTwoNet()];
    const models = await Promise.all(nets.map(capturedModel));
    for (let round = 0; round < 20; round++) {
      const running = nets.flatMap((net, i) =>
        SEEDS.map(async (seed) => {
          const inputs = tensors(net, seed);
          if ((round + seed) % 2 === 0) for (const input of Object.values(inputs)) upload(input);
          const result = models[i]!.model.predictAsync(inputs);
          tf.dispose(inputs);
          expectClose(await take(await result), models[i]!.expected[seed]!, `${net.name}, seed ${seed}`);
        }),
      );
      await Promise.all(running);
    }
    for (const { model } of models) model.dispose();
  });

  it('leave outputs alone that are kept while later ones are computed', async () => {
    const net = convNet();
    const { model, expected } = await capturedModel(net);
    const kept: Array<{ seed: number; output: tf.Tensor }> = [];
    for (let i = 0; i < 200; i++) {
      const seed = SEEDS[i % SEEDS.length]!;
      const inputs = tensors(net, seed);
      kept.push({ seed, output: model.predict(inputs) as tf.Tensor });
      tf.dispose(inputs);
    }
    for (const [i, { seed, output }] of kept.entries()) {
      expectClose(await take(output), expected[seed]!, `output ${i}`);
    }
    model.dispose();
  });

  it('feed each other', async () => {
    const net = denseNet({ layers: 1 });
    const model = await net.load();
    const chain = async (): Promise<Float32Array> => {
      let { x } = tensors(net, 3) as { x: tf.Tensor };
      for (let i = 0; i < 4; i++) {
        const next = model.predict(x) as tf.Tensor;
        x.dispose();
        x = next;
      }
      return take(x);
    };
    const expected = await chain();
    await warmUp(model, () => tensors(net, 1));
    for (let i = 0; i < 20; i++) expectClose(await chain(), expected, `chain ${i}`);
    model.dispose();
  });

  it('give the same bits 2,000 times', async () => {
    for (const net of [denseNet(), convNet({ size: 32 })]) {
      const { model } = await capturedModel(net);
      const inputs = tensors(net, 4);
      const count = replays();
      const first = await take(model.predict(inputs));
      for (let i = 1; i < 2000; i++) {
        expectSame(await take(model.predict(inputs)), first, `${net.name}, replay ${i}`);
      }
      expect(replays() - count).to.equal(2000);
      tf.dispose(inputs);
      model.dispose();
    }
  });

  it('finish runs of a model that is disposed of meanwhile', async () => {
    const net = convNet();
    for (let round = 0; round < 5; round++) {
      const { model, expected } = await capturedModel(net);
      const inputs = tensors(net, 2);
      const running = Promise.all(Array.from({ length: 8 }, () => model.predictAsync(inputs)));
      const output = model.predict(inputs);
      model.dispose();
      tf.dispose(inputs);
      expectClose(await take(output), expected[2]!, 'the synchronous run');
      for (const ended of await running) expectClose(await take(ended), expected[2]!, 'a run');
    }
  });

  it('leave no memory behind, also when a model is disposed of while it is captured', async () => {
    const net = pixelNet({ size: 256 });
    const once = async (wait: boolean) => {
      const model = await net.load();
      for (let i = 0; i < 12; i++) await predictSeed(model, net, 1);
      if (wait) await warmUp(model, () => tensors(net, 1));
      model.dispose();
    };
    await once(true);
    const settled = () => {
      const { capturedGraphs, programs, graphs, graphArenaBytesInUse } = tftrt.stats();
      return { capturedGraphs, programs, graphs, graphArenaBytesInUse };
    };
    const before_ = settled();
    for (let i = 0; i < 10; i++) {
      await once(i % 2 === 0);
      // A capture that goes on when its model is disposed of is dropped when it ends.
      await expectBack(settled, before_, `round ${i}`);
    }
  });

  it('have their memory for themselves: a graph that names a second GPU runs on ours', async () => {
    const { folder, cases } = readFixture('frozen_graphs', 'second_gpu');
    const { inputs: values, outputs } = cases[0]!;
    const { graphArenaBytesInUse } = tftrt.stats();
    const model = await tftrt.loadFrozenGraph(fs.readFileSync(`${folder}.pb`), { outputs: ['y'] });
    const inputs = toTensors(values);
    const results = model.predict(inputs) as tf.NamedTensorMap;
    expect(await mismatch(results.y!, outputs.y!, 1e-5)).to.equal(null);
    expect(tftrt.stats().graphArenaBytesInUse, 'with the weights').to.equal(graphArenaBytesInUse);
    tf.dispose([inputs, results]);
    model.dispose();
  });
});
