import { expect } from 'chai';
import { runTrap } from './child';
import type { Called, EmptyResult } from './traps/empty';

/** Calls without rows that reach TensorFlow, or an engine itself. A clear error is as good as an empty answer; an end is not. */
describe('TensorRT: calls without rows', function () {
  this.timeout(300_000);

  const run = (name: keyof typeof import('./traps/empty'), argument?: unknown) =>
    runTrap<EmptyResult>('empty.js', name, { argument });

  /** `row`: the shape of each output's row. Calls with rows must be right; those without may be refused, where that is said. */
  function expectRight(calls: Called[], row: number[][], maybeRefused: boolean): void {
    for (const [i, { rows, shapes, error, refused }] of calls.entries()) {
      const what = `call ${i}, of ${rows} rows`;
      if (refused !== undefined) {
        expect(maybeRefused && rows === 0, `${what}: ${refused}`).to.equal(true);
        continue;
      }
      expect(shapes, what).to.deep.equal(row.map((shape) => [rows, ...shape]));
      expect(error, what).to.be.at.most(1e-4);
    }
  }

  const SAVED_MODELS: Array<[name: string, shape: number[], row: number[][], maybeRefused: boolean]> = [
    ['intermediate', [6], [[5], [2]], false],
    ['keras_cnn', [16, 16, 3], [[10]], true], // on the CPU, oneDNN's convolutions give empty batches wrong shapes
  ];
  for (const [name, shape, row, maybeRefused] of SAVED_MODELS) {
    it(`of a SavedModel (${name}): by TensorFlow`, async () => {
      const { built, calls } = await run('savedModel', { name, shape });
      expect(built).to.equal('tensorrt');
      expectRight(calls, row, maybeRefused);
    });
  }

  it('of a graph of createInferenceGraph', async () => {
    const { built, calls } = await run('inferenceGraph');
    expect(built).to.equal('tensorrt');
    expectRight(calls, [[5], [5]], true);
  });

  it('inside of a graph, which filters rows in front of its layers', async () => {
    const { built, calls } = await run('emptiedInside', 2);
    expect(built).to.equal('tensorrt');
    expectRight(calls, [[16]], true);
  });

  it('inside of a graph, in the sample too', async () => {
    const { built, calls } = await run('emptiedInside', 0);
    expect(built).to.match(/^(tensorrt|tensorflow|TFTRT_[A-Z_]+)$/);
    expectRight(calls, [[16]], true);
  });
});
