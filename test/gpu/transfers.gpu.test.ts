import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { cudaClient } from '../support/cuda_client';
import { live, onTftrt } from '../support/tftrt';
import { build, expectEngine } from './api';
import { upload, warmUp } from './capture';

const SIZE = 64;

/** y = relu(relu(x · w) · v), with w half the identity and v the identity. */
function layers(): tf.io.IOHandler {
  const float = { T: { type: 'DT_FLOAT' } };
  const modelTopology = {
    node: [
      { name: 'x', op: 'Placeholder', attr: { dtype: { type: 'DT_FLOAT' } } },
      { name: 'w', op: 'Const', attr: { dtype: { type: 'DT_FLOAT' } } },
      { name: 'v', op: 'Const', attr: { dtype: { type: 'DT_FLOAT' } } },
      { name: 'xw', op: 'MatMul', input: ['x', 'w'], attr: float },
      { name: 'relu', op: 'Relu', input: ['xw'], attr: float },
      { name: 'product', op: 'MatMul', input: ['relu', 'v'], attr: float },
      { name: 'y', op: 'Relu', input: ['product'], attr: float },
    ],
    versions: { producer: 1900 },
  };
  const weights = new Float32Array(2 * SIZE * SIZE);
  for (let i = 0; i < SIZE; i++) {
    weights[i * SIZE + i] = 0.5;
    weights[SIZE * SIZE + i * SIZE + i] = 1;
  }
  const weightSpecs: tf.io.WeightsManifestEntry[] = ['w', 'v'].map((name) => ({
    name,
    shape: [SIZE, SIZE],
    dtype: 'float32',
  }));
  return tf.io.fromMemory({ modelTopology, weightSpecs, weightData: weights.buffer });
}

const counts = () => tftrt.stats().transfers;

function expectSameBytes(actual: ArrayBufferView, expected: ArrayBufferView, what: string): void {
  const bytes = (view: ArrayBufferView) => Buffer.from(view.buffer, view.byteOffset, view.byteLength);
  expect(actual.byteLength, what).to.equal(expected.byteLength);
  expect(Buffer.compare(bytes(actual), bytes(expected)), what).to.equal(0);
}

describe('transfers', function () {
  this.timeout(120_000);
  onTftrt();

  type Tiers = ReturnType<typeof tftrt.stats>['tiers'];
  /** What counts the ten; TensorFlow's graph may be captured in the course of them. */
  const TIERS: Array<
    [tier: string, counters: Array<keyof Tiers>, prepare: (model: tf.GraphModel) => Promise<void>]
  > = [
    ['by TensorFlow', [], async (model) => tf.dispose(model.predict(tf.ones([SIZE, SIZE])))], // compiles
    ['by a CUDA graph', ['cudaGraphs'], (model) => warmUp(model, () => tf.ones([SIZE, SIZE]))],
    [
      'by an engine and its CUDA graph',
      ['tensorrt', 'cudaGraphs'],
      async (model) => {
        expectEngine(await build(model, { precision: 'FP32', inputs: [tf.ones([SIZE, SIZE])] }));
        await warmUp(model, () => tf.ones([SIZE, SIZE]));
      },
    ],
  ];
  /** Between the host and the GPU: a CUDA graph copies within the GPU's memory. */
  const crossings = () => {
    const { hostToDevice, deviceToHost, synchronizations } = counts();
    return { hostToDevice, deviceToHost, synchronizations };
  };

  for (const [tier, counters, prepare] of TIERS) {
    for (const asynchronous of [false, true]) {
      it(`are none between ten ${asynchronous ? 'asynchronous ' : ''}predictions that feed each other ${tier}`, async () => {
        const model = await tf.loadGraphModel(layers());
        const x = upload(tf.ones([SIZE, SIZE]));
        const predict = async (input: tf.Tensor) =>
          (asynchronous ? await model.predictAsync(input) : model.predict(input)) as tf.Tensor;
        await prepare(model);
        const before_ = crossings();
        const { tiers } = tftrt.stats();
        const chain = [x as tf.Tensor];
        for (let i = 0; i < 10; i++) chain.push(await predict(chain[i]!));
        expect(crossings(), 'during the chain').to.deep.equal(before_);
        for (const counter of counters)
          expect(tftrt.stats().tiers[counter] - tiers[counter], counter).to.equal(10);
        expect((await chain[10]!.data())[0]).to.equal(0.5 ** 10);
        const after_ = crossings();
        expect(after_.deviceToHost.count - before_.deviceToHost.count, 'the read').to.equal(1);
        expect(after_.deviceToHost.bytes - before_.deviceToHost.bytes).to.equal(SIZE * SIZE * 4);
        expect(after_.hostToDevice).to.deep.equal(before_.hostToDevice);
        tf.dispose(chain);
        model.dispose();
      });
    }
  }

  it('are none between ops that feed each other', () => {
    const w = upload(tf.eye(SIZE).mul<tf.Tensor2D>(0.5));
    const half = upload(tf.fill([SIZE], 0.25));
    const step = (x: tf.Tensor2D) => tf.tidy(() => tf.relu(tf.add(tf.matMul(x, w), half)) as tf.Tensor2D);
    let x = upload(tf.ones<tf.Rank.R2>([SIZE, SIZE]));
    step(x).dispose();
    const before_ = counts();
    for (let i = 0; i < 10; i++) {
      const next = step(x);
      x.dispose();
      x = next;
    }
    expect(counts()).to.deep.equal(before_);
    const expected = 0.5 ** 10 * (1 - 0.5) + 0.5; // the fixed point is 0.5
    expect(x.dataSync()[0]).to.be.closeTo(expected, 1e-6);
    tf.dispose([w, half, x]);
  });

  it('are counted, with their bytes', async () => {
    const x = tf.tensor1d(new Float32Array(1000));
    const before_ = counts();
    upload(x);
    const uploaded = counts();
    expect(uploaded.hostToDevice).to.deep.equal({
      count: before_.hostToDevice.count + 1,
      bytes: before_.hostToDevice.bytes + 4000,
    });
    expect(uploaded.synchronizations).to.equal(before_.synchronizations);
    x.dataSync();
    await x.data();
    const read = counts();
    expect(read.deviceToHost).to.deep.equal({
      count: before_.deviceToHost.count + 2,
      bytes: before_.deviceToHost.bytes + 8000,
    });
    expect(read.synchronizations).to.equal(before_.synchronizations + 2);
    x.dispose();
  });

  it('count what TensorFlow places elsewhere for an op', () => {
    const x = upload(tf.range(0, 8));
    const indices = tf.tensor1d([7, 0], 'int32'); // in host memory; the kernel wants them on the GPU
    const before_ = counts();
    const picked = tf.tidy(() => tf.gather(x, indices));
    expect(counts().hostToDevice.count).to.be.above(before_.hostToDevice.count);
    expect(Array.from(picked.dataSync())).to.deep.equal([7, 0]);
    tf.dispose([x, indices, picked]);
  });

  it('count what TensorFlow copies for an op on the CPU, once for each tensor', () => {
    const x = upload(tf.tensor4d([3, 4], [1, 1, 1, 2]));
    // The GPU's kernel has no radius of 0.
    const normalize = () =>
      tf.tidy(() => Array.from(tf.localResponseNormalization(x, 0, 0, 1, 0.5).dataSync()));
    const copies = [1, 0].map((expected) => {
      const before_ = counts().deviceToHost.count;
      expect(normalize()).to.deep.equal([1, 1]);
      return [counts().deviceToHost.count - before_, expected];
    });
    for (const [copied, expected] of copies) expect(copied).to.equal(expected);
    x.dispose();
  });

  it('keep values of any size and dtype', async () => {
    const before_ = live();
    // Around the size of a piece (2 MiB) and of what several threads share.
    for (const size of [0, 1, 3, 1023, 524_287, 524_288, 524_289, 1_048_577, 3_000_001, 16_777_217]) {
      const values = Float32Array.from({ length: size }, (_, i) => i * 0.5 - 7);
      const x = upload(tf.tensor1d(values));
      expectSameBytes(x.dataSync(), values, `${size}, dataSync`);
      expectSameBytes(await x.data(), values, `${size}, data`);
      x.dispose();
    }
    for (const size of [1, 5, 2_097_153, 9_000_001]) {
      const bytes = Uint8Array.from({ length: size }, (_, i) => i % 3); // 2 is true, too
      const flags = upload(tf.tensor1d(bytes, 'bool'));
      expectSameBytes(
        await flags.data(),
        bytes.map((byte) => (byte === 0 ? 0 : 1)),
        `${size} bool`,
      );
      flags.dispose();
    }
    for (const size of [1, 262_145, 2_000_003]) {
      const parts = Float32Array.from({ length: size }, (_, i) => i);
      const x = tf.tidy(() => tf.complex(parts, tf.add(parts, 0.5)));
      const read = (await x.data()) as unknown as Float32Array;
      const last = [read[2 * size - 2], read[2 * size - 1]];
      expect([read.length, read[1], ...last]).to.deep.equal([2 * size, 0.5, size - 1, size - 0.5]);
      x.dispose();
    }
    expect(live()).to.deep.equal(before_);
  });

  it('read many tensors at a time while ops run, also such as are disposed of meanwhile', async () => {
    const before_ = live();
    const sizes = [1, 100, 300_000, 524_289, 2_000_000, 5_000_000];
    for (let round = 0; round < 5; round++) {
      const reads = sizes.flatMap((size, i) =>
        [1, 2].map(async (factor) => {
          const value = round * 100 + i * 10 + factor;
          const x = tf.tidy(() => tf.add(tf.fill([size], value), 0.5));
          const reading = x.data();
          x.dispose();
          const values = await reading;
          expect(values.length).to.equal(size);
          expect(
            values.every((found) => found === value + 0.5),
            `${size} of ${value}`,
          ).to.equal(true);
        }),
      );
      // Takes the memory of what was just disposed of.
      for (const size of sizes) tf.tidy(() => void tf.mul(tf.fill([size], -1), 3));
      await Promise.all(reads);
    }
    expect(live()).to.deep.equal(before_);
  });

  it('do not wait for what is enqueued after a read', async () => {
    const client = cudaClient();
    for (const size of [4, 4_000_000]) {
      const x = tf.tidy(() => tf.add(tf.ones([size]), 1));
      await x.data();
      const start = performance.now();
      const reading = x.data();
      client.delay(tftrt.computeStream(), 1000);
      expect((await reading)[size - 1]).to.equal(2);
      expect(performance.now() - start, `${size} values`).to.be.below(700);
      expect(x.dataSync()[0], 'after the delay').to.equal(2);
      expect(performance.now() - start).to.be.above(900);
      x.dispose();
    }
  });
});
