import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { errorOf, live, onTftrt } from '../support/tftrt';

/** Values that are in TensorFlow's memory, not on the host any more. */
function onDevice(values: number[] | number[][]): tf.Tensor {
  return tf.tidy(() => tf.add(tf.tensor(values), 0));
}

describe('storage', () => {
  onTftrt();

  it('keeps what is written, for each dtype', async () => {
    const before_ = live();
    const cases: Array<[tf.TensorLike, tf.DataType]> = [
      [[1.5, -2, Number.NaN, Number.POSITIVE_INFINITY], 'float32'],
      [[16777217, -2147483648, 2147483647], 'int32'],
      [[true, false, true], 'bool'],
      [['żółw', '日本', '', '\0'], 'string'],
    ];
    for (const [values, dtype] of cases) {
      const tensor = tf.tensor(values, undefined, dtype);
      const again = tf.tidy(() => tf.concat([tf.slice(tensor, 0, 1), tf.slice(tensor, 1)])); // through TensorFlow
      expect(await again.array()).to.deep.equal(await tensor.array());
      expect(again.arraySync()).to.deep.equal(tensor.arraySync());
      tf.dispose([tensor, again]);
    }
    expect(live()).to.deep.equal(before_);
  });

  it('refuses more memory than there is, at once', async function () {
    // A GPU's allocator waits for memory that others may give back.
    if (tftrt.stats().device.includes('GPU')) this.skip();
    const before_ = live();
    const begun = performance.now();
    for (const work of [
      () => tf.fill([1e6, 1e6], 1),
      () => tf.tidy(() => tf.matMul(tf.ones([1e6, 1]), tf.ones([1, 1e6]))),
    ]) {
      const error = await errorOf(work);
      expect(error.code, error.message).to.equal('TFTRT_RESOURCE_EXHAUSTED');
    }
    expect(performance.now() - begun, 'ms').to.be.below(5000);
    expect(live()).to.deep.equal(before_);
  });

  it('keeps complex numbers', async () => {
    const before_ = live();
    const complex = tf.tidy(() => tf.complex([[1, 2]], [[3, 4]]));
    expect(tf.engine().backend.numDataIds() - before_.dataIds, 'as tfjs counts them').to.equal(3);
    expect(Array.from(await complex.data())).to.deep.equal([1, 3, 2, 4]);
    const [real, imag] = [tf.real(complex), tf.imag(complex)];
    expect(await real.array()).to.deep.equal([[1, 2]]);
    expect(await imag.array()).to.deep.equal([[3, 4]]);
    tf.dispose([complex, real, imag]);
    expect(live()).to.deep.equal(before_);
  });

  it('keeps zero elements and scalars', async () => {
    const empty = tf.tidy(() => tf.add(tf.zeros([0, 3]), 1));
    expect(empty.shape).to.deep.equal([0, 3]);
    expect((await empty.data()).length).to.equal(0);
    const scalar = tf.tidy(() => tf.add(tf.scalar(2), 3));
    expect(await scalar.array()).to.equal(5);
    tf.dispose([empty, scalar]);
  });

  it('counts data ids, tensors and bytes exactly', () => {
    const before_ = live();
    const bytes = (tf.memory() as unknown as { numBytesInTensorFlow: number }).numBytesInTensorFlow;
    const x = onDevice([1, 2, 3, 4]);
    const reshaped = x.reshape([2, 2]);
    const cloned = x.clone();
    expect(tf.engine().backend.numDataIds() - before_.dataIds, 'aliases share their data').to.equal(1);
    expect(tf.memory()).to.include({ numBytesInTensorFlow: bytes + 16, unreliable: false });
    x.dispose();
    expect(reshaped.arraySync()).to.deep.equal([
      [1, 2],
      [3, 4],
    ]);
    const sum = tf.tidy(() => tf.sum(reshaped, 0)); // the alias's shape counts, not the data's
    expect(sum.arraySync()).to.deep.equal([4, 6]);
    tf.dispose([reshaped, cloned, sum]);
    expect(live()).to.deep.equal(before_);
  });

  it('copies large values whole, in pieces or not', async () => {
    for (const size of [1, 1023, 524_289, 3_000_001]) {
      const values = Float32Array.from({ length: size }, (_, i) => i);
      const x = tf.tidy(() => tf.add(tf.tensor1d(values), 0));
      for (const read of [x.dataSync(), await x.data()]) {
        expect(Buffer.compare(Buffer.from(read.buffer), Buffer.from(values.buffer)), `${size}`).to.equal(0);
      }
      x.dispose();
    }
  });

  it('gives each reader values of its own', async () => {
    const source = new Float32Array([1, 2]);
    for (const tensor of [tf.tensor(source), onDevice([1, 2])]) {
      (await tensor.data())[0] = 99;
      tensor.dataSync()[1] = 99;
      expect(Array.from(await tensor.data())).to.deep.equal([1, 2]);
      tensor.dispose();
    }
  });

  it('gives no reader the Buffer that a tensor was made of', async () => {
    const truths = tf.tensor1d(Buffer.from([1, 0, 1]) as never, 'bool');
    truths.dataSync().fill(0);
    expect([...(await truths.data())]).to.deep.equal([1, 0, 1]);
    truths.dispose();
  });

  it('reads a tensor that is disposed of meanwhile', async () => {
    const before_ = live();
    for (const size of [2, 200_000]) {
      const x = tf.tidy(() => tf.add(tf.fill([size], 1), 1));
      const reading = x.data();
      x.dispose();
      const values = await reading;
      expect(values.length).to.equal(size);
      expect(values.every((value) => value === 2)).to.equal(true);
    }
    expect(live()).to.deep.equal(before_);
  });

  it('moves tensors from and to other backends, and back', async () => {
    const before_ = live();
    const x = onDevice([1, 2, 3]);
    await tf.setBackend('cpu');
    const doubled = tf.mul(x, 2); // moves x away
    expect(Array.from(doubled.dataSync())).to.deep.equal([2, 4, 6]);
    await tf.setBackend('tftrt');
    const sum = tf.tidy(() => tf.add(x, doubled)); // moves both here
    expect(await sum.array()).to.deep.equal([3, 6, 9]);
    tf.dispose([x, doubled, sum]);
    expect(live()).to.deep.equal(before_);
  });

  it('moves complex and string tensors', async () => {
    await tf.setBackend('cpu');
    const complex = tf.complex([1, 2], [3, 4]);
    const text = tf.tensor(['a', 'ż']);
    await tf.setBackend('tftrt');
    const real = tf.tidy(() => tf.real(complex));
    expect(await real.array()).to.deep.equal([1, 2]);
    const joined = tf.tidy(() => tf.concat([text, text]));
    expect(await joined.array()).to.deep.equal(['a', 'ż', 'a', 'ż']);
    tf.dispose([complex, text, real, joined]);
  });

  it('refuses a disposed tensor, and goes on', async () => {
    const gone = tf.tensor([1]);
    gone.dispose();
    expect((await errorOf(() => tf.add(gone, 1))).message).to.match(/disposed/);
    expect(tf.tidy(() => tf.add(1, 1).dataSync()[0])).to.equal(2);
  });

  it('refuses sizes that are out of range', async () => {
    for (const work of [
      () => tf.fill([2 ** 33], 1),
      () => tf.tile(tf.tensor1d([1, 2]), [2 ** 32 + 1]),
      () => tf.neg(tf.tensor([], [0, 2 ** 32 + 5])),
    ]) {
      expect((await errorOf(() => tf.tidy(work))).code).to.equal('TFTRT_OUT_OF_RANGE');
    }
  });

  it('times and profiles', async () => {
    const x = tf.ones([200, 200]);
    const time = await tf.time(() => tf.tidy(() => void tf.matMul(x as tf.Tensor2D, x as tf.Tensor2D)));
    expect(time.kernelMs)
      .to.be.above(0)
      .and.at.most(time.wallMs + 1e-9);
    const profile = await tf.profile(() => tf.tidy(() => tf.relu(tf.add(x, x)).sum()));
    expect(profile.kernelNames).to.include.members(['Add', 'Relu', 'Sum']);
    expect(profile.kernels.every(({ kernelTimeMs }) => Number(kernelTimeMs) >= 0)).to.equal(true);
    tf.dispose([x, profile.result as tf.Tensor]);
  });

  it('tells its devices and versions', () => {
    const { tensorFlowVersion, device } = tftrt.stats();
    expect(tensorFlowVersion).to.equal('2.17.1');
    expect(tftrt.devices().map(({ name }) => name)).to.include(device);
    expect(tf.getBackend()).to.equal('tftrt');
  });
});
