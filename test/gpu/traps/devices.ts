// Two devices in one process, see two_devices.ts. Each function is a process's whole work, throws where something
// is wrong, and concerns a GPU and the CPU alike unless it says otherwise.

import { Worker } from 'node:worker_threads';
import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import {
  exceedsInt32,
  type FixtureKind,
  fixtureNames,
  mismatch,
  readFixture,
  toTensors,
} from '../../support/fixtures';
import { errorOf } from '../../support/tftrt';
import { build, byEngines, expectEngine } from '../api';
import { denseModel, disorder, tensorOf } from '../graphs';

const BACKENDS = ['tftrt:0', 'tftrt:1'];
const numDataIds = (name: string) => tf.findBackend(name).numDataIds();

/** Ops on both devices, each backend with its own tensors. */
export async function ops(): Promise<void> {
  tf.env().set('IS_TEST', true); // tfjs then looks for leaks after each kernel
  const kept: tf.Tensor[] = [];
  for (const [i, name] of BACKENDS.entries()) {
    await tf.setBackend(name);
    const before = numDataIds(name);
    const x = tf.tensor2d([1, 2, 3, 4], [2, 2]);
    const y = tf.tidy(() => {
      const product = tf.matMul(x, x).add(tf.scalar(i));
      const picked = product
        .gather(tf.tensor1d([1, 0], 'int32'))
        .cast('int32')
        .cumsum(0);
      return picked.cast('float32').where(picked.greater(0), tf.zerosLike(product));
    });
    expect(await y.array(), name).to.deep.equal([
      [15 + i, 22 + i],
      [22 + 2 * i, 32 + 2 * i],
    ]);
    const { values, indices } = tf.topk(y);
    expect(await indices.array(), name).to.deep.equal([[1], [1]]);
    expect(numDataIds(name), name).to.equal(before + 4);
    kept.push(x, y, values, indices);
    const backends = tftrt.stats().backends;
    expect(
      backends.map(({ tensors }) => tensors),
      'tensors are counted apart',
    ).to.deep.equal(Array(i + 1).fill(4));
    expect(tftrt.stats().tensors).to.equal(4 * (i + 1));
    expect(tftrt.stats().device).to.equal(backends[i]!.device);
    expect(tf.memory()).to.include({ numBytesInTensorFlow: backends[i]!.tensorBytes });
  }
  const [first, second] = tftrt.stats().backends.map(({ device }) => device);
  expect(first).to.match(/:0$/);
  expect(second).to.not.equal(first);
  expect(tftrt.devices().map(({ name }) => name)).to.include.members([first, second]);
  tf.dispose(kept);
  expect(BACKENDS.map(numDataIds)).to.deep.equal([0, 0]);
  expect(tftrt.stats().tensors).to.equal(0);
}

/** tfjs moves operands to the backend that computes. */
export async function moves(): Promise<void> {
  tf.env().set('IS_TEST', true);
  const make = () => tf.tidy(() => tf.add(tf.tensor1d([1, 2]), 0));
  await tf.setBackend('tftrt:0');
  const x = make();
  const fresh = tf.tensor1d([7, 8]); // on the host
  const text = tf.tensor1d(['a', 'ż']);
  await tf.setBackend('tftrt:1');
  const y = make();
  const sum = tf.tidy(() => tf.addN([x, y, fresh]));
  expect(await sum.array()).to.deep.equal([9, 12]);
  expect(BACKENDS.map(numDataIds), 'x and fresh have moved').to.deep.equal([1, 4]);
  const texts = tf.concat([text, text]);
  expect(await texts.array()).to.deep.equal(['a', 'ż', 'a', 'ż']);
  const reshaped = x.reshape([2, 1]);
  await tf.setBackend('tftrt:0');
  const back = tf.tidy(() => tf.mul(reshaped, tf.scalar(3)));
  expect(await back.array()).to.deep.equal([[3], [6]]);
  expect(await x.array(), 'the same data').to.deep.equal([1, 2]);
  await tf.setBackend('cpu');
  const elsewhere = tf.add(y, back.flatten());
  expect(await elsewhere.array()).to.deep.equal([4, 8]);
  tf.dispose([x, fresh, text, y, sum, texts, reshaped, back, elsewhere]);
  expect(BACKENDS.map(numDataIds)).to.deep.equal([0, 0]);
  expect(tf.memory().numTensors).to.equal(1); // the result of flatten
  await tf.setBackend('tftrt:1');
  expect((await errorOf(() => tf.add(x, 1))).message).to.match(/disposed/);
}

/** `tftrt:0` is `tftrt`, and their tensors need not move. */
export async function sameBackend(): Promise<void> {
  await tf.setBackend('tftrt');
  const x = tf.tidy(() => tf.add(1, 2));
  await tf.setBackend('tftrt:0');
  expect(tf.findBackend('tftrt:0')).to.equal(tf.findBackend('tftrt'));
  const y = tf.tidy(() => tf.mul(x, 2));
  expect(y.dataSync()[0]).to.equal(6);
  expect(numDataIds('tftrt')).to.equal(2);
  tf.engine().reset();
  expect(tftrt.stats().tensors).to.equal(0);
  await tf.setBackend('tftrt:1');
  expect(tf.tidy(() => tf.add(1, 2).dataSync()[0])).to.equal(3);
}

/**
 * One graph model on both devices at once, and a SavedModel that stays where it was loaded. Fewer runs than what makes CUDA
 * graphs, which would be programs, too.
 */
export async function models(): Promise<void> {
  await tf.setBackend('tftrt:0');
  const { model, expected } = await denseModel({ inputs: 32, outputs: 16 });
  const dataIds = numDataIds('tftrt:0');
  const input = disorder([4, 32], 5);
  const wanted = expected(input.values);
  for (const name of [...BACKENDS, ...BACKENDS]) {
    await tf.setBackend(name);
    const x = tensorOf(input);
    const y = model.predict(x) as tf.Tensor;
    expect(Array.from(await y.data()), name).to.deep.equal(wanted);
    expect(numDataIds('tftrt:0'), 'the weights stay').to.equal(dataIds + (name === 'tftrt:0' ? 2 : 0));
    tf.dispose([x, y]);
  }
  expect(tftrt.stats().backends.map(({ programs }) => programs)).to.deep.equal([1, 1]);

  const pending: Promise<tf.Tensor>[] = [];
  const x = tensorOf(input);
  for (let i = 0; i < 8; i++) {
    await tf.setBackend(BACKENDS[i % 2]!);
    pending.push(model.predictAsync(x) as Promise<tf.Tensor>); // x moves to and fro
  }
  for (const y of await Promise.all(pending)) {
    expect(Array.from(await y.data())).to.deep.equal(wanted);
    y.dispose();
  }
  x.dispose();
  expect(BACKENDS.map(numDataIds), 'of the weights').to.deep.equal([dataIds, 0]);
  expect(tftrt.stats().tensors).to.equal(0);

  await tf.setBackend('tftrt:1');
  const saved = await tftrt.loadSavedModel(readFixture('saved_models', 'two_inputs').folder);
  await tf.setBackend('tftrt:0');
  const [a, z] = [tf.tensor1d([3]), tf.tensor1d([10])];
  for (const run of [() => saved.predict([a, z]), () => saved.predictAsync([a, z])]) {
    const outputs = (await run()) as tf.Tensor[];
    expect(outputs.map((output) => output.dataSync()[0])).to.deep.equal([13, 7]);
    tf.dispose(outputs);
  }
  expect(tftrt.stats().backends.map(({ programs }) => programs)).to.deep.equal([1, 2]);
  saved.dispose();
  model.dispose();
  expect(tftrt.stats().programs).to.equal(0);
  expect((await errorOf(() => model.predict(a))).message).to.match(/disposed/);
}

/** Threads, each of which uses both devices; one of them ends in the middle. */
export async function workers(): Promise<void> {
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    const tf = require('@tensorflow/tfjs');
    const tftrt = require('tfjs-backend-tftrt');
    (async () => {
      const x = [];
      for (const name of ['tftrt:0', 'tftrt:1']) {
        await tf.setBackend(name);
        x.push(tf.tidy(() => tf.add(tf.ones([200, 200]), workerData)));
      }
      const reads = x.map((tensor) => tensor.data());
      parentPort.postMessage('reading');
      const values = await Promise.all(reads);
      const y = tf.tidy(() => tf.matMul(x[0], x[1]).dataSync()[0]);
      tf.dispose(x);
      const right = values.every((array) => array.every((value) => value === workerData + 1));
      parentPort.postMessage([right, y === 200 * (workerData + 1) ** 2, tftrt.stats().tensors].join());
    })();`;
  const run = (number: number, terminate: boolean) =>
    new Promise<string[]>((resolve, reject) => {
      const worker = new Worker(source, { eval: true, workerData: number });
      const messages: string[] = [];
      worker.on('message', (message) => {
        messages.push(message);
        if (terminate) void worker.terminate();
      });
      worker.on('error', reject);
      worker.on('exit', () => resolve(messages));
    });
  await tf.setBackend('tftrt:1');
  const x = tf.tidy(() => tf.add(1, 1));
  const ended = await Promise.all([run(1, false), run(2, true), run(3, false)]);
  const right = ['reading', 'true,true,0'];
  expect([ended[0], ended[2], await run(4, false)]).to.deep.equal([right, right, right]);
  expect(x.dataSync()[0]).to.equal(2);
}

/** Every model of the fixtures, on the second device: control flow, tables, functions, strings, all dtypes. */
export async function fixtures(): Promise<void> {
  await tf.setBackend('tftrt:1');
  const problems: string[] = [];
  for (const kind of ['graph_models', 'saved_models'] as FixtureKind[]) {
    for (const name of fixtureNames(kind)) {
      // Its own ops are registered by the tests of graph models.
      if (name === 'custom_op') continue;
      const fixture = readFixture(kind, name);
      for (const testCase of fixture.cases) {
        const { inputs, outputs, fetch, tolerance, tags, signature } = testCase;
        const expected = Object.values(outputs);
        if (expected.some(exceedsInt32)) continue;
        try {
          const model =
            kind === 'graph_models'
              ? await tf.loadGraphModel(`file://${fixture.folder}/model.json`)
              : await tftrt.loadSavedModel(fixture.folder, { tags, signature });
          const given = toTensors(inputs);
          const names = fetch ?? Object.keys(outputs);
          const results = (await (kind === 'graph_models' && fetch === undefined
            ? (model as tf.GraphModel).executeAsync(given)
            : (model as tf.GraphModel).executeAsync(given, names))) as tf.Tensor | tf.Tensor[];
          for (const [i, result] of [results].flat().entries()) {
            const problem = await mismatch(result, expected[i]!, tolerance);
            if (problem !== null) problems.push(`${kind} ${name} ${testCase.name} ${names[i]}: ${problem}`);
          }
          model.dispose();
        } catch (error) {
          problems.push(`${kind} ${name} ${testCase.name}: ${(error as Error).message}`);
        }
      }
    }
  }
  expect(problems.join('\n')).to.equal('');
  expect(tftrt.stats().backends[0]!.programs).to.equal(0);
}

/** On a GPU: memory and streams of their own, CUDA graphs on both, pointers. */
export async function gpuMemory(): Promise<void> {
  const streams: bigint[] = [];
  const MiB = 2 ** 20;
  const held: tf.Tensor[] = [];
  for (const [i, name] of BACKENDS.entries()) {
    await tf.setBackend(name);
    const inUse = () => tftrt.stats().backends.map(({ deviceBytesInUse }) => deviceBytesInUse!);
    const before = inUse();
    const x = tf.tidy(() => tf.add(tf.ones([MiB]), i)); // 4 MiB, in a block of less than twice that
    const after = inUse();
    expect(after[i]! - before[i]!, name).to.be.within(4 * MiB, 8 * MiB);
    expect(after[1 - i], 'the other device').to.equal(before[1 - i]);
    expect(tf.memory()).to.include({ numBytesInGPU: after[i] });
    const memory = x.dataToGPU() as unknown as tftrt.GpuTensorData;
    const { device } = tftrt.stats();
    expect(memory.device).to.equal(device);
    expect(memory.stream).to.equal(tftrt.computeStream()).and.equal(tftrt.computeStream(device));
    streams.push(memory.stream);
    const copy = tftrt.tensorFromDevice({ pointer: memory.pointer, shape: [MiB], dtype: 'float32' });
    expect((await copy.data()).every((value) => value === i + 1)).to.equal(true);
    memory.tensorRef!.dispose();
    copy.dispose();
    held.push(x);
  }
  expect(streams[0]).to.not.equal(streams[1]);
  expect(tftrt.stats().backends.map(({ tensors }) => tensors)).to.deep.equal([1, 1]);
  tf.dispose(held);
}

/** On a GPU: CUDA graphs of one model on both devices. */
export async function cudaGraphs(): Promise<void> {
  await tf.setBackend('tftrt:0');
  const { model, expected } = await denseModel({ inputs: 64, outputs: 64, batch: 8 });
  for (const name of BACKENDS) {
    await tf.setBackend(name);
    const replays = tftrt.stats().tiers.cudaGraphs;
    const end = performance.now() + 60_000;
    // Captured in the background; then a few runs more.
    for (let i = 0, more = 20; more > 0 && performance.now() < end; i++) {
      if (tftrt.stats().tiers.cudaGraphs > replays) more--;
      const input = disorder([8, 64], i + 1);
      const x = tensorOf(input);
      const y = model.predict(x) as tf.Tensor;
      expect(Array.from(await y.data()), `${name}, run ${i}`).to.deep.equal(expected(input.values));
      tf.dispose([x, y]);
    }
  }
  expect(
    tftrt.stats().backends.map(({ capturedGraphs }) => capturedGraphs),
    'captured',
  ).to.deep.equal([1, 1]);
  // A tensor that moves to the other device while a replay has it.
  const before = [...BACKENDS.map(numDataIds), tf.memory().numDataBuffers];
  const input = disorder([8, 64], 7);
  const x = tensorOf(input);
  const pending: Promise<tf.Tensor>[] = [];
  for (let i = 0; i < 8; i++) {
    await tf.setBackend(BACKENDS[i % 2]!);
    pending.push(model.predictAsync(x) as Promise<tf.Tensor>);
  }
  for (const y of await Promise.all(pending)) {
    expect(Array.from(await y.data())).to.deep.equal(expected(input.values));
    y.dispose();
  }
  x.dispose();
  expect([...BACKENDS.map(numDataIds), tf.memory().numDataBuffers]).to.deep.equal(before);
  expect(tftrt.stats().tiers.retired).to.equal(0);
  model.dispose();
  expect(tftrt.stats().capturedGraphs).to.equal(0);
}

/** On a GPU with TensorRT: an engine for the second device. */
export async function engines(): Promise<void> {
  await tf.setBackend('tftrt:1');
  const { model, expected } = await denseModel({ inputs: 64, outputs: 64 });
  const input = disorder([8, 64], 3);
  const x = tensorOf(input);
  expectEngine(await build(model, { inputs: [x], cache: false }));
  const y = await byEngines(async () => model.predict(x) as tf.Tensor);
  expect(Array.from(await y.data())).to.deep.equal(expected(input.values));
  expect(tftrt.stats().backends.map(({ programs }) => programs > 0)).to.deep.equal([false, true]);
}
