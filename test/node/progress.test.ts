import { expect } from 'chai';
import * as tf from 'tfjs-backend-tftrt/node';
import { ProgressLine, progressText } from '#src/node/progress_line';
import { ProgbarLogger, succinct } from '#src/node/progress_logger';
import { onTftrt } from '../support/tftrt';

describe('fit’s progress', () => {
  onTftrt();

  const lines: string[] = [];
  const { log } = console;
  beforeEach(() => {
    lines.length = 0;
    console.log = (line: string) => void lines.push(line);
  });
  afterEach(() => {
    console.log = log;
  });

  function compiled(): tf.Sequential {
    const model = tf.sequential({
      layers: [tf.layers.dense({ units: 1, inputShape: [1], kernelInitializer: 'zeros' })],
    });
    model.compile({ loss: 'meanSquaredError', optimizer: tf.train.sgd(0) });
    return model;
  }
  const data = () => [tf.ones([5, 1]), tf.ones([5, 1])] as const;

  it('is printed by default, an epoch at a time', async () => {
    const [xs, ys] = data();
    await compiled().fit(xs, ys, { epochs: 2, batchSize: 2, validationData: [xs, ys] });
    expect(lines.map((line) => line.replace(/\d+ms \d+us/, 'TIME'))).to.deep.equal([
      'Epoch 1 / 2',
      'TIME/step - loss=1.00 val_loss=1.00 ',
      'Epoch 2 / 2',
      'TIME/step - loss=1.00 val_loss=1.00 ',
    ]);
  });

  it('is not printed if nobody wants it', async () => {
    const [xs, ys] = data();
    await compiled().fit(xs, ys, { epochs: 1, verbose: 0 });
    expect(lines).to.deep.equal([]);
  });

  it('is printed of data sets of unknown size', async () => {
    const [xs, ys] = data();
    const dataset = tf.data.generator(function* () {
      for (let i = 0; i < 3; i++) yield { xs: xs.clone(), ys: ys.clone() };
    } as () => Iterator<tf.TensorContainer>);
    await compiled().fitDataset(dataset, { epochs: 1 });
    expect(lines[0]).to.equal('Epoch 1 / 1');
    expect(lines[1]).to.match(/^\d+ms \d+us\/step - loss=1\.00 $/);
  });

  it('is drawn on a terminal', async () => {
    const written: string[] = [];
    const terminal = { isTTY: true, columns: 60, write: (text: string) => void written.push(text) };
    const [xs, ys] = data();
    await compiled().fit(xs, ys, {
      epochs: 1,
      batchSize: 1,
      verbose: 0,
      callbacks: new ProgbarLogger(terminal),
    });
    expect(written.at(-1)).to.equal('\n');
    expect(written.at(-2)).to.equal(`\r\x1b[Keta=0.0 ${'='.repeat(30)} loss=1.00 `);
    expect(written[0]!.startsWith('\r\x1b[Keta=')).to.equal(true);
    expect(written[0]).to.match(/eta=\d+\.\d ======>-+ loss=1\.00 $/);
  });

  it('is not drawn elsewhere', () => {
    const line = new ProgressLine(2, { write: () => expect.fail('nothing is to be written') });
    line.update(1, '');
    line.update(2, '');
    line.end();
  });

  it('fits the terminal', () => {
    expect(progressText(1, 4, 1000, 'loss=1', 40)).to.equal(`eta=3.0 =====>-------------- loss=1`);
    expect(progressText(7, 0, 1000, 'loss=1', 40)).to.equal('7 loss=1');
    for (const columns of [1, 10, 20, 40, 80]) {
      const text = progressText(3, 5, 1e9, 'x'.repeat(200), columns);
      expect(text.length).to.be.below(Math.max(columns, 1));
    }
  });

  const numbers: Array<[number, string]> = [
    [0, '0.00'],
    [1, '1.00'],
    [1234.567, '1234.57'],
    [-2.5, '-2.50'],
    [0.123, '0.123'],
    [0.0123, '0.0123'],
    [0.00123, '1.23e-3'],
    [Number.NaN, 'NaN'],
  ];
  for (const [number, text] of numbers) {
    it(`has ${number} as ${text}`, () => expect(succinct(number)).to.equal(text));
  }
});
