import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { loadSavedModel as loadTFSavedModel } from '#src/node/saved_model';
import { readFixture } from '../support/fixtures';
import { errorOf, expectBack, live, onTftrt } from '../support/tftrt';

interface Model {
  predictAsync(inputs: tf.Tensor | tf.NamedTensorMap): Promise<unknown>;
  dispose(): void;
}

const RUNS = 24;

const vectors = (i: number) => ({ a: tf.tensor1d([i]), z: tf.tensor1d([10 * i]) });

/** Models with inputs that differ from run to run, and what the first output starts with. */
const models: ReadonlyArray<{
  readonly name: string;
  load(): Promise<Model>;
  inputs(i: number): tf.Tensor | tf.NamedTensorMap;
  expected(i: number): number;
}> = [
  {
    name: 'graph models',
    load: () => tf.loadGraphModel(square()) as Promise<Model>,
    inputs: (i) => tf.fill([64, 64], i),
    expected: (i) => 64 * i * i,
  },
  {
    name: 'SavedModels',
    load: () => tftrt.loadSavedModel(readFixture('saved_models', 'two_inputs').folder),
    inputs: vectors,
    expected: (i) => 11 * i, // z + a
  },
  {
    name: 'SavedModels that share a session',
    load: () => loadTFSavedModel(readFixture('saved_models', 'two_inputs').folder),
    inputs: vectors,
    expected: (i) => 11 * i,
  },
];

/** y = x·x */
function square(): tf.io.IOHandler {
  const node = [
    { name: 'x', op: 'Placeholder', attr: { dtype: { type: 'DT_FLOAT' } } },
    { name: 'y', op: 'MatMul', input: ['x', 'x'], attr: { T: { type: 'DT_FLOAT' } } },
  ];
  const modelTopology = { node, versions: { producer: 1900 } };
  return tf.io.fromMemory({ modelTopology, weightSpecs: [], weightData: new ArrayBuffer(0) });
}

const moments: Record<string, (running: Promise<unknown>[]) => unknown> = {
  'right after they began': () => undefined,
  'a moment later': () => new Promise(setImmediate),
  'when the first is done': (running) => Promise.race(running),
  'between two of them': (running) => running[5],
};

describe('runs in flight when their model is disposed of', () => {
  onTftrt();

  for (const { name, load, inputs, expected } of models) {
    for (const [moment, until] of Object.entries(moments)) {
      it(`finish: ${name}, ${moment}`, async () => {
        const before_ = live();
        const model = await load();
        const running: Promise<unknown>[] = [];
        for (let i = 0; i < RUNS; i++) {
          const x = inputs(i);
          running.push(model.predictAsync(x));
          tf.dispose(x);
        }
        await until(running);
        model.dispose();
        const x = inputs(0);
        const refused = await errorOf(() => model.predictAsync(x));
        tf.dispose(x);
        expect(refused.code).to.equal('TFTRT_MODEL_DISPOSED');
        const outputs = (await Promise.all(running)) as Array<tf.Tensor | tf.NamedTensorMap>;
        const firsts = outputs.map((output) => {
          const first = output instanceof tf.Tensor ? output : Object.values(output)[0]!;
          return first.dataSync()[0];
        });
        expect(firsts).to.deep.equal(outputs.map((_, i) => expected(i)));
        tf.dispose(outputs);
        await expectBack(live, before_, 'after the runs');
      });
    }
  }

  it('leave nothing when they fail', async () => {
    const before_ = live();
    const model = (await tf.loadGraphModel(square())) as Model;
    const x = tf.ones([2, 3]); // is no square
    const running = Array.from({ length: 10 }, () => model.predictAsync(x));
    model.dispose();
    for (const { status, reason } of (await Promise.allSettled(running)) as PromiseRejectedResult[]) {
      expect([status, reason.code]).to.deep.equal(['rejected', 'TFTRT_INVALID_ARGUMENT']);
    }
    x.dispose();
    // On a GPU, so many calls begin a capture, which holds the input until it fails, too.
    await expectBack(live, before_, 'after the runs');
  });
});
