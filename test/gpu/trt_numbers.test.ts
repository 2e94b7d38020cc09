import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import { bytesAttr } from '#src/program/graph_def';
import { errorOf, onTftrt } from '../support/tftrt';
import { type BuildOptions, build, byEngines, type ConversionReport, expectEngine } from './api';
import {
  type Constant,
  denseModel,
  disorder,
  FLOAT,
  floats,
  graphModel,
  node,
  placeholder,
  SAME_CONVOLUTION,
  tensorOf,
} from './graphs';
import { predict, relativeError } from './outcome';

/** What engines of each precision make of numbers. Right answers come from arithmetic in float64. */
describe('TensorRT: numbers', function () {
  this.timeout(300_000);
  onTftrt();

  const PRODUCT = { T: FLOAT, transpose_a: { b: false }, transpose_b: { b: false } };

  /** 2 · (x · w + 1), and the numbers that it gives. */
  async function productModel() {
    const [rows, inner, columns] = [64, 512, 64];
    // Mantissas of more than the 10 bits that TF32 keeps.
    const x = fractions([rows, inner], 3);
    const w = fractions([inner, columns], 5);
    const model = await graphModel(
      [
        placeholder('x', [rows, inner]),
        node('product', 'MatMul', ['x', 'w'], PRODUCT),
        node('sum', 'AddV2', ['product', 'one']),
        node('y', 'Mul', ['sum', 'two']),
      ],
      { w, one: floats([], 1), two: floats([], 2) },
    );
    const expected = Array.from({ length: rows * columns }, (_, index) => {
      let sum = 0;
      for (let i = 0; i < inner; i++) {
        sum +=
          x.values[Math.floor(index / columns) * inner + i]! * w.values[i * columns + (index % columns)]!;
      }
      return 2 * (sum + 1);
    });
    return { model, x, expected };
  }

  it('FP32 is FP32, and not TF32: products of matrices', async () => {
    const { model, x, expected } = await productModel();
    await checkStrict(model, x, expected);
  });

  it('FP32 is FP32, and not TF32: convolutions', async () => {
    const [side, channels, filters] = [12, 32, 16];
    const x = fractions([1, side, side, channels], 7);
    const w = fractions([3, 3, channels, filters], 9);
    const model = await graphModel(
      [
        placeholder('x', x.shape),
        node('conv', 'Conv2D', ['x', 'w'], SAME_CONVOLUTION),
        node('sum', 'AddV2', ['conv', 'one']),
        node('y', 'Mul', ['sum', 'two']),
      ],
      { w, one: floats([], 1), two: floats([], 2) },
    );
    const expected = convolve(x, w).map((value) => 2 * (value + 1));
    await checkStrict(model, x, expected);
  });

  async function checkStrict(model: tf.GraphModel, x: Constant, expected: number[]): Promise<void> {
    const native = relativeError((await predict(model, tensorOf(x))).values, expected);
    expect(native, 'TensorFlow').to.be.at.most(1e-5);
    const report = await build(model, { precision: 'FP32', inputs: [tensorOf(x)] });
    expectEngine(report);
    const { values } = await byEngines(() => predict(model, tensorOf(x)));
    expect(relativeError(values, expected)).to.be.at.most(1e-5);
    model.dispose();
  }

  it('TF32 keeps 10 bits of the mantissa', async () => {
    const { model, x, expected } = await productModel();
    const report = await build(model, { precision: 'TF32', inputs: [tensorOf(x)] });
    expectEngine(report);
    expect(report.engines.map(({ precision }) => precision)).to.deep.equal(['TF32']);
    const { values } = await byEngines(() => predict(model, tensorOf(x)));
    expect(relativeError(values, expected)).to.be.at.most(1e-3);
    model.dispose();
  });

  it('FP16 that overflows is not served', async () => {
    // 300 · 300 = 90000, beyond float16's 65504.
    const model = await graphModel(
      [
        placeholder('x', [4, 16]),
        node('product', 'MatMul', ['x', 'w'], PRODUCT),
        node('relu', 'Relu', ['product']),
        node('sum', 'AddV2', ['relu', 'one']),
        node('y', 'Mul', ['sum', 'two']),
      ],
      { w: diagonal(16, 300), one: floats([], 1), two: floats([], 2) },
    );
    const report = await build(model, { precision: 'FP16', inputs: [tf.fill([4, 16], 300)] });
    const { values } = await predict(model, tf.fill([4, 16], 300));
    expect(relativeError(values, new Array(64).fill(180_002)), report.reason).to.be.at.most(1e-3);
    expectRefusedIfNotServed(report);
    model.dispose();
  });

  it('FP16 that overflows on the way is not served', async () => {
    const model = await graphModel(
      [
        placeholder('x', [4, 16]),
        node('product', 'MatMul', ['x', 'w'], PRODUCT),
        node('relu', 'Relu', ['product']),
        node('small', 'Mul', ['relu', 'thousandth']),
        node('y', 'AddV2', ['small', 'one']),
      ],
      { w: diagonal(16, 300), one: floats([], 1), thousandth: floats([], 1e-3) },
    );
    const report = await build(model, { precision: 'FP16', inputs: [tf.fill([4, 16], 300)] });
    const { values } = await predict(model, tf.fill([4, 16], 300));
    expect(relativeError(values, new Array(64).fill(91)), report.reason).to.be.at.most(2e-3);
    expectRefusedIfNotServed(report);
    model.dispose();
  });

  for (const precision of ['FP32', 'FP16'] as const) {
    it(`NaN and infinities go through relu in ${precision} as in TensorFlow`, async () => {
      const model = await graphModel(
        [
          placeholder('x', [1, 8]),
          node('relu', 'Relu', ['x']),
          node('sum', 'AddV2', ['relu', 'one']),
          node('y', 'Mul', ['sum', 'two']),
        ],
        { one: floats([], 1), two: floats([], 2) },
      );
      const x = () => tf.tensor2d([NaN, -3, 5, Infinity, -Infinity, 0, NaN, 1], [1, 8]);
      const report = await build(model, { precision, inputs: [x()] });
      expectRefusedIfNotServed(report);
      const { values } = await predict(model, x());
      expect(values, `served by ${report.serving}`).to.deep.equal([NaN, 2, 12, Infinity, 2, 2, NaN, 4]);
      model.dispose();
    });
  }

  /** An engine that was built serves, forced as it is, unless it differed from TensorFlow on the sample. */
  function expectRefusedIfNotServed(report: ConversionReport): void {
    expect(report.engines, report.reason).to.have.length.above(0);
    if (report.serving === 'tensorflow') expect(report.reason).to.include("differ from TensorFlow's");
  }

  it('INT8 by inputs and by the table that they gave are the same', async () => {
    const [rows, inputs] = [8, 64];
    // Only that it is no nonsense: the calibrator may clip, and how much 8 bits cost is measured by benchmarks/accuracy.
    const tolerance = 0.3;
    const batches = [11, 12, 13, 14].map((seed) => tensorOf(disorder([rows, inputs], seed)));
    const sample = disorder([rows, inputs], 15);
    const options: BuildOptions = { precision: 'INT8', inputs: [tensorOf(sample)], tolerance, cache: false };

    const first = await denseModel({ inputs, outputs: 32, batch: rows });
    const calibrated = await build(first.model, { ...options, calibration: { inputs: batches } });
    expectEngine(calibrated);
    expect(calibrated.calibrationTable).to.be.a('string').that.is.not.empty;
    const byInputs = await byEngines(() => predict(first.model, tensorOf(sample)));
    expect(relativeError(byInputs.values, first.expected(sample.values))).to.be.at.most(tolerance);

    const second = await denseModel({ inputs, outputs: 32, batch: rows });
    const table = calibrated.calibrationTable!;
    const restored = await build(second.model, { ...options, calibration: { table } });
    expectEngine(restored);
    expect(restored.calibrationTable).to.equal(table);
    const byTable = await byEngines(() => predict(second.model, tensorOf(sample)));
    // Two builds may choose different kernels; the scales are the same.
    expect(relativeError(byTable.values, byInputs.values)).to.be.at.most(0.02);
    for (const { model } of [first, second]) model.dispose();
  });

  it('INT8 refuses calibration that cannot be, and the model works on', async () => {
    const { model, expected } = await denseModel({ batch: 2 });
    const x = disorder([2, 8]);
    const options: BuildOptions = { precision: 'INT8', inputs: [tensorOf(x)] };
    for (const calibration of [undefined, { inputs: [] }, { table: '' }, { table: 'no table' }]) {
      const error = await errorOf(() => build(model, { ...options, calibration } as BuildOptions));
      expect(error.code, `${JSON.stringify(calibration)}: ${error.message}`).to.match(/^TFTRT_/);
    }
    expect((await predict(model, tensorOf(x))).values).to.deep.equal(expected(x.values));
    model.dispose();
  });

  it('a padded and strided convolution is right in FP16', async () => {
    const x = disorder([1, 9, 9, 8], 3);
    const w = disorder([3, 3, 8, 8], 4);
    const model = await graphModel(
      [
        placeholder('x', x.shape),
        node('conv', 'Conv2D', ['x', 'w'], { ...SAME_CONVOLUTION, strides: { list: { i: [1, 2, 2, 1] } } }),
        node('sum', 'BiasAdd', ['conv', 'b'], { T: FLOAT, data_format: bytesAttr('NHWC') }),
        node('y', 'Relu', ['sum']),
      ],
      { w, b: disorder([8], 5) },
    );
    const { values: native } = await predict(model, tensorOf(x));
    expectEngine(await build(model, { precision: 'FP16', inputs: [tensorOf(x)] }));
    const { values } = await byEngines(() => predict(model, tensorOf(x)));
    expect(relativeError(values, native)).to.be.at.most(5e-3);
    model.dispose();
  });
});

/** Numbers in −1 … 1 whose mantissas use all bits. */
function fractions(shape: number[], seed: number): Constant {
  const { values } = disorder(shape, seed);
  return { shape, values: Float32Array.from(values, (value, i) => Math.sin(value * 1000 + i)) };
}

function diagonal(size: number, value: number): Constant {
  const values = Float32Array.from({ length: size * size }, (_, i) => (i % (size + 1) === 0 ? value : 0));
  return { shape: [size, size], values };
}

/** A 3×3 convolution with padding that keeps the size, in float64. */
function convolve({ shape, values }: Constant, filter: Constant): number[] {
  const [, height, width, channels] = shape as [number, number, number, number];
  const filters = filter.shape[3]!;
  const result: number[] = [];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const sums = new Float64Array(filters);
      for (let tap = 0; tap < 9; tap++) {
        const [row, column] = [y + Math.floor(tap / 3) - 1, x + (tap % 3) - 1];
        if (row < 0 || row >= height || column < 0 || column >= width) continue;
        for (let channel = 0; channel < channels; channel++) {
          const value = values[(row * width + column) * channels + channel]!;
          const from = (tap * channels + channel) * filters;
          for (let f = 0; f < filters; f++) sums[f]! += value * filter.values[from + f]!;
        }
      }
      result.push(...sums);
    }
  }
  return result;
}
