import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { nativeRuntime } from '#src/native';
import { cleanErrorOf, onTftrt } from '../support/tftrt';

describe('device memory', () => {
  onTftrt();

  it('is refused where the CPU computes', async function () {
    if (nativeRuntime().onGpu) this.skip();
    const x = tf.tensor1d([1, 2]);
    const uses: Array<() => unknown> = [
      () => x.dataToGPU(),
      () => tftrt.computeStream(),
      () => tftrt.computeStream(tftrt.stats().device),
      () => tftrt.tensorFromDevice({ pointer: 64n, shape: [1], dtype: 'float32' }),
    ];
    for (const use of uses) {
      const error = await cleanErrorOf(use);
      expect(error.code, String(use)).to.equal('TFTRT_GPU_UNAVAILABLE');
      expect(error.message).to.include('CPU:0').and.to.include('GPU');
    }
    expect(Array.from(await x.data()), 'the tensor is as before').to.deep.equal([1, 2]);
    x.dispose();
  });

  it('is not copied to and from where the CPU computes', async function () {
    if (nativeRuntime().onGpu) this.skip();
    const x = tf.tidy(() => tf.add(tf.tensor1d([1, 2]), 1));
    await x.data();
    x.dataSync();
    await tf.time(() => x.dataSync());
    x.dispose();
    const none = { count: 0, bytes: 0 };
    expect(tftrt.stats().transfers).to.deep.equal({
      hostToDevice: none,
      deviceToHost: none,
      deviceToDevice: none,
      synchronizations: 0,
    });
  });

  it('has to be described rightly', async () => {
    const memory: tftrt.DeviceMemory = { pointer: 64n, shape: [2], dtype: 'float32' };
    const wrong: Array<[string, object | undefined, object?]> = [
      ['memory', undefined],
      ['pointer', { ...memory, pointer: 64 }],
      ['shape', { ...memory, shape: [-1] }],
      ['shape', { ...memory, shape: [1.5] }],
      ['shape', { ...memory, shape: undefined }],
      ['dtype', { ...memory, dtype: 'string' }],
      ['byteLength', { ...memory, byteLength: 7 }],
      ['byteLength', { ...memory, byteLength: Number.NaN }],
      ['event', memory, { event: 5 }],
      ['event', memory, { event: 0n }],
      ['stream', memory, { stream: 'x' }],
      ['copy', memory, { copy: 1 }],
      ['release', memory, { release: true }],
    ];
    for (const [what, given, options] of wrong) {
      const error = await cleanErrorOf(() => tftrt.tensorFromDevice(given as tftrt.DeviceMemory, options));
      expect(error.code, what).to.equal('TFTRT_INVALID_ARGUMENT');
      expect(error.message).to.include(what).and.to.include('expected');
    }
    const error = await cleanErrorOf(() => tftrt.computeStream(7 as never));
    expect(error.code).to.equal('TFTRT_INVALID_ARGUMENT');
  });
});
