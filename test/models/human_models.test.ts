import path from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import { BLAZEPOSE_HEAVY, HUMAN_MODELS, type HumanCall } from '../support/human_inputs';
import { ensureHumanModels } from '../support/human_models';
import { live, onTftrt } from '../support/tftrt';

/** Largest error of floats, relative to the output's range. */
const TOLERANCE = 1e-4;
/** Of a recurrent matting network, whose own rounding grows: all but this share of the elements keep to it. */
const RVM = { share: 1e-3, tolerance: 5e-3 };

/** Real models, element by element against tfjs's own execution on its cpu backend. */
describe('real models', function () {
  this.timeout(300_000);
  let folder: string;
  before(async () => {
    folder = await ensureHumanModels();
  });
  onTftrt();

  for (const { name, calls } of HUMAN_MODELS) {
    it(`${name} equals the cpu backend`, async () => {
      const url = `file://${path.join(folder, `${name}.json`)}`;
      await tf.setBackend('cpu');
      const reference = await runCalls(url, calls);
      await tf.setBackend('tftrt');
      const before_ = live();
      const actual = await runCalls(url, calls);
      expect(live()).to.deep.equal(before_);
      for (const [i, outputs] of actual.entries()) {
        expect(Object.keys(outputs)).to.deep.equal(Object.keys(reference[i]!));
        for (const [output, { dtype, shape, values }] of Object.entries(outputs)) {
          const wanted = reference[i]![output]!;
          const where = `${calls[i]!.name}, ${output}`;
          expect(shape, where).to.deep.equal(wanted.shape);
          if (dtype !== 'float32') {
            expect(dtype, where).to.equal(wanted.dtype);
            expect(values, where).to.deep.equal(wanted.values);
          } else {
            const errors = relativeErrors(values, wanted.values);
            const worst = errors.reduce((max, error) => Math.max(max, error), 0);
            const over = errors.filter((error) => !(error <= TOLERANCE)).length;
            const [share, tolerance] = name === 'rvm' ? [RVM.share, RVM.tolerance] : [0, TOLERANCE];
            expect(worst, `${where}: largest error`).to.be.at.most(tolerance);
            expect(over / errors.length, `${where}: share over ${TOLERANCE}`).to.be.at.most(share);
          }
        }
      }
    });
  }

  it('blazepose-heavy, whose un-fused graph crashed the process, runs', async () => {
    const model = await tf.loadGraphModel(`file://${path.join(folder, 'blazepose-heavy.json')}`);
    const inputs = BLAZEPOSE_HEAVY.calls[0]!.inputs();
    const outputs = model.predict(inputs) as tf.Tensor[];
    expect(outputs.map(({ size }) => size).sort((a, b) => a - b)).to.deep.equal([1, 117, 195, 65536, 159744]);
    for (const output of outputs) expect((await output.data()).every(Number.isFinite)).to.equal(true);
    tf.dispose([inputs, outputs]);
    model.dispose();
  });
});

interface Values {
  readonly dtype: tf.DataType;
  readonly shape: number[];
  readonly values: Float32Array | Int32Array | Uint8Array;
}

async function runCalls(url: string, calls: readonly HumanCall[]): Promise<Record<string, Values>[]> {
  const model = await tf.loadGraphModel(url);
  const results: Record<string, Values>[] = [];
  for (const call of calls) {
    const inputs = call.inputs();
    const result = (await model.executeAsync(inputs, model.outputNodes)) as tf.Tensor | tf.Tensor[];
    const outputs = Array.isArray(result) ? result : [result];
    const entries = outputs.map(async (tensor, i) => {
      const { dtype, shape } = tensor;
      return [model.outputNodes[i]!, { dtype, shape, values: await tensor.data() }] as const;
    });
    results.push(Object.fromEntries(await Promise.all(entries)));
    tf.dispose([inputs, outputs]);
  }
  model.dispose();
  return results;
}

/** |a − b| over the range of b. */
function relativeErrors(actual: Values['values'], wanted: Values['values']): number[] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const value of wanted) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const range = high > low ? high - low : Math.max(Math.abs(high), 1e-6);
  return Array.from(actual, (value, i) => Math.abs(value - wanted[i]!) / range);
}
