import { expect } from 'chai';
import { runTrap } from './child';
import type { TrapResult } from './traps/segments';

/** In processes of their own: each is known to have ended one. A refusal is as good as an engine; a wrong answer is not. */
describe('TensorRT: graphs that have ended processes', function () {
  this.timeout(300_000);

  const run = (name: keyof typeof import('./traps/segments')) => runTrap<TrapResult>('segments.js', name);
  const filled = (shape: number[], value: number) => ({
    shape,
    values: new Array(shape[0]! * shape[1]!).fill(value),
  });

  for (const name of ['shapeAsOutput', 'shapeAsOutputOfFixedSize'] as const) {
    it(`a shape as the output (${name})`, async () => {
      const { answers } = await run(name);
      expect(answers.map(({ values }) => values)).to.deep.equal([
        [2, 3],
        [5, 4],
        [2, 3],
      ]);
    });
  }

  it('a shape beside what it is the shape of', async () => {
    const { answers } = await run('shapeBesideAnOutput');
    expect(answers).to.deep.equal([
      { shape: [2], values: [2, 3] },
      filled([2, 3], 1),
      { shape: [2], values: [5, 4] },
      filled([5, 4], 1),
      { shape: [2], values: [2, 3] },
      filled([2, 3], 1),
    ]);
  });

  it('a shape that another op of the graph reads', async () => {
    const { answers } = await run('shapeForReshape');
    expect(answers).to.deep.equal([filled([2, 3], -4), filled([4, 2], -4)]);
  });

  it('inputs without rows', async () => {
    const { outcome, answers } = await run('noRows');
    expect(outcome.report?.profiles.map(({ serving }) => serving)).to.deep.equal(['tensorrt']);
    expect(answers).to.deep.equal([2, 0, 1, 0, 8].map((rows) => filled([rows, 4], 8)));
  });

  it('a sample without rows', async () => {
    const { answers } = await run('noRowsInTheSample');
    expect(answers).to.deep.equal([filled([0, 4], 0), filled([1, 4], 8)]);
  });

  it('segments of two nodes: refused, or right', async () => {
    const { outcome, answers } = await run('segmentsOfTwo');
    if (outcome.refused !== undefined) expect(outcome.refused).to.equal('TFTRT_INVALID_ARGUMENT');
    expect(answers).to.deep.equal([2, 3, 2].map((rows) => filled([rows, 4], 8)));
  });

  it('boxes in pixels: those that TensorFlow keeps', async () => {
    const { outcome, answers } = await run('boxesInPixels');
    const [valid, kept] = answers;
    expect(valid!.values).to.deep.equal([2]);
    expect(kept!.values.map((score) => score.toFixed(3))).to.deep.equal(['0.900', '0.800']);
    const nms = outcome.report?.native.find(({ op }) => op === 'CombinedNonMaxSuppression');
    expect(nms?.reason, 'the report says why it stays in TensorFlow').to.be.a('string').that.is.not.empty;
  });
});
