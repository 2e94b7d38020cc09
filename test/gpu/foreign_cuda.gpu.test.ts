import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { runNode } from '../process/child';
import { cudaClient, cudaClientFile } from '../support/cuda_client';
import { cleanErrorOf, live, onTftrt } from '../support/tftrt';

const SIZE = 100_000;
const BYTES = SIZE * 4;
/** Longer than what the test does meanwhile: without the right order, values would be missing. */
const DELAY_MS = 200;

const toGpu = (x: tf.Tensor) => x.dataToGPU() as tftrt.GpuTensorData;

/** Lets work on other threads end that nobody waits for. */
async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 20_000;
  while (!condition() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(condition()).to.equal(true);
}

describe('other CUDA code in the process', function () {
  this.timeout(120_000);
  onTftrt();
  const client = cudaClient();
  let stream: bigint;
  before(() => {
    stream = tftrt.computeStream();
  });

  /** 0.5, 1.5, 2.5, … in device memory. */
  const numbers = () => tf.tidy(() => tf.add(tf.range(0, SIZE), 0.5));
  const floats = (pointer: bigint, length: number) =>
    new Float32Array(client.read(stream, pointer, length * 4));

  it('gets the compute stream', async () => {
    expect(stream).to.be.a('bigint');
    expect(stream > 0n).to.equal(true);
    expect(tftrt.computeStream(tftrt.stats().device)).to.equal(stream);
    const cpu = tftrt.devices().find(({ type }) => type === 'CPU')!;
    expect((await cleanErrorOf(() => tftrt.computeStream(cpu.name))).code).to.equal('TFTRT_GPU_UNAVAILABLE');
    expect((await cleanErrorOf(() => tftrt.computeStream('x'))).code).to.equal('TFTRT_INVALID_ARGUMENT');
  });

  it('reads a tensor by its pointer, after the work before', () => {
    const before_ = live();
    const x = numbers();
    const transfers = tftrt.stats().transfers;
    const data = toGpu(x);
    expect(tftrt.stats().transfers, 'no copy').to.deep.equal(transfers);
    expect(data).to.include({ bytes: BYTES, stream, device: tftrt.stats().device });
    client.delay(stream, DELAY_MS);
    const later = tf.tidy(() => tf.mul(x, 2)); // runs after the delay
    const result = toGpu(later);
    expect(floats(result.pointer, SIZE)[SIZE - 1]).to.equal(2 * SIZE - 1);
    expect(floats(data.pointer, SIZE)[1]).to.equal(1.5);
    tf.dispose([x, later, data.tensorRef, result.tensorRef]);
    expect(live()).to.deep.equal(before_);
  });

  it('keeps the memory by tensorRef', () => {
    const x = numbers();
    const { tensorRef, pointer } = toGpu(x);
    x.dispose();
    for (let i = 0; i < 20; i++) tf.tidy(() => tf.fill([SIZE], -1).add(tf.fill([SIZE], -1)));
    expect(floats(pointer, SIZE)[7]).to.equal(7.5);
    expect(tensorRef.dataSync()[7]).to.equal(7.5);
    tensorRef.dispose();
  });

  it('gets values that were on the host, and a copy of int32 ones', async () => {
    const x = tf.tensor1d([1.25, 2.5]);
    const whole = tf.tensor1d([3, -4, 5], 'int32');
    const [data, copy] = [toGpu(x), toGpu(whole)];
    expect(Array.from(floats(data.pointer, 2))).to.deep.equal([1.25, 2.5]);
    expect(Array.from(new Int32Array(client.read(stream, copy.pointer, 12)))).to.deep.equal([3, -4, 5]);
    expect(Array.from(copy.tensorRef.dataSync())).to.deep.equal([3, -4, 5]);
    expect(Array.from(await tf.tidy(() => tf.add(copy.tensorRef, whole)).data())).to.deep.equal([6, -8, 10]);
    const text = tf.tensor1d(['x']);
    expect((await cleanErrorOf(() => text.dataToGPU())).code).to.equal('TFTRT_UNSUPPORTED_DTYPE');
    tf.dispose([x, whole, text, data.tensorRef, copy.tensorRef]);
  });

  for (const order of ['event', 'stream'] as const) {
    for (const copy of [true, false]) {
      it(`gives memory, ${copy ? 'copied' : 'in place'}, after the work that its ${order} tells of`, async () => {
        const before_ = live();
        const x = numbers();
        const { tensorRef, pointer } = toGpu(x);
        const [result, event, otherStream] = client.copyLater(stream, pointer, BYTES, DELAY_MS);
        let released = 0;
        const y = tftrt.tensorFromDevice(
          { pointer: result, shape: [2, SIZE / 2], dtype: 'float32', byteLength: BYTES },
          {
            copy,
            ...(order === 'event' ? { event } : { stream: otherStream }),
            release: () => released++,
          },
        );
        expect(y.shape).to.deep.equal([2, SIZE / 2]);
        const data = toGpu(y);
        expect(data.pointer === result, 'in place').to.equal(!copy);
        const sum = tf.tidy(() => tf.sub(y.flatten(), x).abs().max());
        expect(sum.dataSync()[0], 'difference').to.equal(0);
        data.tensorRef.dispose();
        if (copy) {
          await until(() => released === 1);
        } else {
          const kept = tf.tidy(() => y.reshape([SIZE]));
          y.dispose();
          await new Promise((resolve) => setTimeout(resolve, 50));
          expect(released, 'while an alias lives').to.equal(0);
          client.delay(stream, DELAY_MS);
          const twice = tf.tidy(() => tf.mul(kept, 2));
          const start = performance.now();
          kept.dispose();
          await until(() => released === 1);
          expect(performance.now() - start, 'released after the work').to.be.above(DELAY_MS / 2);
          expect(twice.dataSync()[1]).to.equal(3);
          twice.dispose();
        }
        client.free(stream, result);
        tf.dispose([x, y, sum, tensorRef]);
        expect(released).to.equal(1);
        expect(live()).to.deep.equal(before_);
      });
    }
  }

  it('gives memory of each dtype, and of none', async () => {
    const sources = [
      tf.tensor1d([1, -2, 3], 'int32'),
      tf.tensor1d([true, false, true, true], 'bool'),
      tf.tidy(() => tf.complex([1, 2], [3, 4])),
    ];
    for (const x of sources) {
      const { tensorRef, pointer } = toGpu(x);
      const y = tftrt.tensorFromDevice({ pointer, shape: x.shape, dtype: x.dtype as 'int32' });
      expect(y.dtype).to.equal(x.dtype);
      expect(Array.from(await y.data())).to.deep.equal(Array.from(await x.data()));
      tf.dispose([x, y, tensorRef]);
    }
    let released = false;
    const none = tftrt.tensorFromDevice(
      { pointer: 0n, shape: [0, 3], dtype: 'float32' },
      {
        release: () => {
          released = true;
        },
      },
    );
    expect(await none.array()).to.deep.equal([]);
    await until(() => released);
    none.dispose();
  });

  it('gets errors for memory that cannot be a tensor', async () => {
    const device = client.allocate(stream, 4096, false);
    const host = client.allocate(stream, 4096, true);
    let released = 0;
    const from = (pointer: bigint, elements: number, copy: boolean) => () =>
      tftrt.tensorFromDevice(
        { pointer, shape: [elements], dtype: 'float32' },
        { copy, release: () => released++ },
      );
    const cases: Array<[string, () => unknown]> = [
      ['not device memory', from(host, 4, true)],
      ['not device memory', from(0n, 4, true)],
      ['not device memory', from(12345n, 4, false)],
      ['4096 bytes of memory', from(device, 1025, true)],
      ['96 bytes of memory', from(device + 4000n, 25, true)],
      ['multiple of 64', from(device + 4n, 4, false)],
    ];
    for (const [text, misuse] of cases) {
      const error = await cleanErrorOf(misuse);
      expect(error.code, text).to.equal('TFTRT_INVALID_ARGUMENT');
      expect(error.message).to.include(text);
    }
    const x = from(device + 4n, 4, true)() as tf.Tensor;
    expect(x.dataSync().length, 'the next call works, and a copy needs no alignment').to.equal(4);
    x.dispose();
    await until(() => released === 1);
    client.free(stream, device);
  });

  it('does not keep a process from ending', async () => {
    const { code, stdout, stderr } = await runNode(`
      const tf = require('@tensorflow/tfjs-core');
      const tftrt = require('tfjs-backend-tftrt');
      const client = require(${JSON.stringify(cudaClientFile)});
      tf.setBackend('tftrt').then(() => {
        const stream = tftrt.computeStream();
        const memory = () => ({ pointer: client.allocate(stream, 64, false), shape: [16], dtype: 'float32' });
        const options = { copy: false, release: () => {} };
        tftrt.tensorFromDevice(memory(), options);
        const x = tftrt.tensorFromDevice(memory(), options);
        client.delay(stream, 100);
        x.dispose();
        console.log('ends');
      });`);
    expect({ code, stdout: stdout.trim() }, stderr).to.deep.equal({ code: 0, stdout: 'ends' });
  });
});
