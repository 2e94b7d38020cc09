import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import * as tf from 'tfjs-backend-tftrt/node';
import { useTemporaryFolder } from '../setup/helpers';
import { readEvents } from '../support/event_files';
import { errorOf, live, onTftrt } from '../support/tftrt';

const { node } = tf;

describe('tf.node: summaries', () => {
  onTftrt();
  const folder = useTemporaryFolder();
  const invalid = async (text: string, work: () => unknown) => {
    const error = await errorOf(work);
    expect(error.message).to.include(text);
    expect(error.code).to.equal('TFTRT_INVALID_ARGUMENT');
  };

  it('writes scalars at any step', () => {
    const writer = node.summaryFileWriter(folder());
    const seven = tf.scalar(7, 'int32');
    const steps = [0, 1, -3, 2 ** 31, 2 ** 40 + 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
    for (const step of steps) writer.scalar('loss', 1.5, step);
    writer.scalar('métrique', seven, 5);
    writer.scalar('lost', Number.NaN, 6);
    writer.flush();
    expect(readEvents(folder())).to.deep.equal([
      ...steps.map((step) => ({ step: BigInt(step), tag: 'loss', value: 1.5 })),
      { step: 5n, tag: 'métrique', value: 7 },
      { step: 6n, tag: 'lost', value: Number.NaN },
    ]);
    seven.dispose();
  });

  const data = [-1, 0, 0.5, 1, 3, 3];
  const histograms: Array<[string, number[], number | undefined, number[][]]> = [
    [
      'of four buckets',
      data,
      4,
      [
        [-1, 0, 1],
        [0, 1, 2],
        [1, 2, 1],
        [2, 3, 2],
      ],
    ],
    ['of one bucket', data, 1, [[-1, 3, 6]]],
    ['of one value', [2, 2, 2], 5, [[1.5, 2.5, 3]]],
    ['of nothing', [], 5, []],
    [
      'of what is finite',
      [1, Number.NaN, 3, Number.POSITIVE_INFINITY],
      2,
      [
        [1, 2, 1],
        [2, 3, 1],
      ],
    ],
  ];
  for (const [name, values, buckets, expected] of histograms) {
    it(`writes histograms ${name}`, () => {
      const writer = node.summaryFileWriter(folder());
      const tensor = tf.tensor1d(values);
      writer.histogram('weights', tensor, 2, buckets, 'what **they** are');
      writer.flush();
      const description = 'what **they** are';
      expect(readEvents(folder())).to.deep.equal([
        { step: 2n, tag: 'weights', plugin: 'histograms', description, buckets: expected },
      ]);
      tensor.dispose();
    });
  }

  it('takes 30 buckets, tensors of any shape, and long descriptions', () => {
    const writer = node.summaryFileWriter(folder());
    const tensor = tf.tidy(() => tf.range(0, 61, 1, 'int32').slice(0, 60).reshape([3, 4, 5]));
    const description = 'x'.repeat(300);
    writer.histogram('h', tensor, 0, undefined, description);
    writer.flush();
    const [event] = readEvents(folder());
    expect(event).to.include({ description });
    const { buckets } = event as unknown as { buckets: number[][] };
    expect(buckets.length).to.equal(30);
    expect(buckets.reduce((sum, bucket) => sum + bucket[2]!, 0)).to.equal(60);
    expect([buckets[0]![0], buckets[29]![1]]).to.deep.equal([0, 59]);
    tensor.dispose();
  });

  it('waits for more than maxQueue values', () => {
    const writer = node.summaryFileWriter(folder(), 2, 1e6, '.suffix');
    const [file] = fs.readdirSync(folder());
    expect(file).to.match(/^events\.out\.tfevents\..*\.suffix$/);
    for (let step = 0; step < 2; step++) writer.scalar('x', step, step);
    expect(readEvents(folder())).to.deep.equal([]);
    writer.scalar('x', 2, 2);
    expect(readEvents(folder()).length).to.equal(3);
  });

  it('has one writer of a folder, and leaves nothing in memory', () => {
    const writer = node.summaryFileWriter(folder());
    const tensor = tf.tensor1d([1, 2]);
    writer.histogram('h', tensor, 0);
    const before_ = live();
    expect(node.summaryFileWriter(folder(), 3)).to.equal(writer);
    for (let step = 0; step < 100; step++) {
      writer.scalar('x', step / 3, step);
      writer.histogram('h', tensor, step);
    }
    writer.flush();
    expect(live()).to.deep.equal(before_);
    tensor.dispose();
  });

  it('writes what is left when the process ends', () => {
    const program = `require('tfjs-backend-tftrt/node').node.summaryFileWriter(${JSON.stringify(folder())}).scalar('x', 4, 1)`;
    execFileSync(process.execPath, ['--eval', program], { stdio: 'ignore' });
    expect(readEvents(folder())).to.deep.equal([{ step: 1n, tag: 'x', value: 4 }]);
  }).timeout(120_000);

  it('says at the end of the process what is lost, and ends it as it would', () => {
    const [full, kept] = [path.join(folder(), 'full'), path.join(folder(), 'kept')];
    const program = `const { node } = require('tfjs-backend-tftrt/node');
      const [full] = ${JSON.stringify([full, kept])}.map((logdir) => {
        const writer = node.summaryFileWriter(logdir);
        writer.scalar('x', 4, 1);
        return writer;
      });
      full.flush = () => { throw new Error('no space is left'); };`;
    const { status, stderr } = spawnSync(process.execPath, ['--eval', program], { encoding: 'utf8' });
    expect(stderr).to.include(`The last summaries for ${full} are lost: no space is left`);
    expect(status).to.equal(0);
    expect(readEvents(kept)).to.deep.equal([{ step: 1n, tag: 'x', value: 4 }]);
  }).timeout(120_000);

  it('takes null for what is not given', () => {
    const writer = node.summaryFileWriter(folder(), null, null, null);
    const values = tf.tensor1d([1, 2]);
    writer.histogram('x', values, 1, 1, null as never);
    values.dispose();
    writer.flush();
    expect(readEvents(folder())).to.deep.equal([
      { step: 1n, tag: 'x', plugin: 'histograms', description: '', buckets: [[1, 2, 2]] },
    ]);
    expect(fs.readdirSync(folder())[0]).to.match(/\.v2$/);
  });

  it('refuses wrong arguments', async () => {
    const writer = node.summaryFileWriter(folder());
    const vector = tf.tensor1d([1]);
    await invalid('Invalid logdir: . Expected a non-empty string for logdir.', () =>
      node.summaryFileWriter(''),
    );
    await invalid('Invalid logdir: undefined.', () => node.summaryFileWriter(undefined as never));
    await invalid('for maxQueue, got 1.5', () => node.summaryFileWriter(`${folder()}/x`, 1.5));
    await invalid('for flushMillis, got -1', () => node.summaryFileWriter(`${folder()}/x`, 1, -1));
    await invalid('step is expected to be an integer, but is instead 0.5', () => writer.scalar('x', 1, 0.5));
    await invalid('step is expected to be an integer, but is instead NaN', () =>
      writer.histogram('x', vector, Number.NaN),
    );
    await invalid('step is expected to be at most', () => writer.scalar('x', 1, 1e300));
    await invalid('A non-scalar tensor (rank 1) is passed to writeScalarSummary()', () =>
      writer.scalar('x', vector as never, 1),
    );
    await invalid('scalar() does not support description yet', () => writer.scalar('x', 1, 1, 'a number'));
    await invalid('got undefined', () => writer.scalar('x', undefined as never, 1));
    await invalid('strictly positive integer, but it was 0', () => writer.histogram('x', vector, 1, 0));
    const text = tf.tensor1d(['a']);
    await invalid('got a tensor of string', () => writer.histogram('x', text, 1));
    tf.dispose([vector, text]);
    const file = path.join(folder(), 'a file');
    fs.writeFileSync(file, '');
    const error = await errorOf(() => node.summaryFileWriter(path.join(file, 'below')));
    expect(error.message).to.include(file);
    fs.rmSync(file);
    node.summaryFileWriter(path.join(file, 'below')).scalar('x', 1, 1);
  });

  // Each: which arguments of which method, and what the message must name.
  const wrongArguments: Array<['scalar' | 'histogram' | 'writer', () => unknown[], string]> = [
    ['writer', () => [10, 1e12], 'from 0 to 2147483647 for flushMillis, got 1000000000000.'],
    ['writer', () => [10, 2 ** 31], 'for flushMillis, got 2147483648.'],
    ['writer', () => [2 ** 31], 'for maxQueue, got 2147483648.'],
    ['writer', () => ['5'], 'for maxQueue, got "5".'],
    ['writer', () => [5n], 'for maxQueue, got 5n.'],
    ['writer', () => [1, 1, 7], 'for filenameSuffix, got 7.'],
    ['writer', () => [1, 1, 'a/b'], 'for filenameSuffix, got "a/b".'],
    ['scalar', () => [undefined, 1, 1], 'scalar() takes a non-empty string for name, got undefined.'],
    ['scalar', () => ['', 1, 1], 'for name, got "".'],
    ['scalar', () => [{}, 1, 1], 'for name, got object.'],
    ['scalar', () => ['x', '1', 1], 'for value, got "1".'],
    ['scalar', () => ['x', [1], 1], 'for value, got an array.'],
    ['scalar', () => ['x', { rank: 0 }, 1], 'for value, got object.'],
    ['scalar', () => ['x', tf.scalar(true), 1], 'for value, got a tensor of bool with the shape [].'],
    ['scalar', () => ['x', tf.scalar('a'), 1], 'for value, got a tensor of string with the shape [].'],
    ['scalar', () => ['x', tf.ones([1, 1]), 1], '(rank 2) is passed to writeScalarSummary() as value'],
    ['scalar', () => ['x', 1, '1'], 'step is expected to be an integer, but is instead "1"'],
    ['scalar', () => ['x', 1], 'step is expected to be an integer, but is instead undefined'],
    ['histogram', () => [null, tf.ones([1]), 1], 'histogram() takes a non-empty string for name, got null.'],
    ['histogram', () => ['x', [1, 2], 1], 'for data, got an array.'],
    ['histogram', () => ['x', { dtype: 'float32' }, 1], 'for data, got object.'],
    [
      'histogram',
      () => ['x', tf.ones([1]), 1, '3'],
      'bucket count to be a strictly positive integer, but it was "3"',
    ],
    [
      'histogram',
      () => ['x', tf.ones([1]), 1, 1e9],
      'bucket count to be at most 1000000, but it was 1000000000',
    ],
    ['histogram', () => ['x', tf.ones([1]), 1, 3, 7], 'for description, got 7.'],
  ];
  it('names the argument that is wrong', async () => {
    const writer = node.summaryFileWriter(folder());
    const before_ = live();
    for (const [method, makeArguments, text] of wrongArguments) {
      const given = makeArguments();
      await invalid(text, () =>
        method === 'writer'
          ? (node.summaryFileWriter as (...all: unknown[]) => unknown)(path.join(folder(), 'x'), ...given)
          : (writer[method] as (...all: unknown[]) => unknown).call(writer, ...given),
      );
      tf.dispose(given as tf.Tensor[]);
    }
    expect(live()).to.deep.equal(before_);
    expect(fs.readdirSync(folder())).to.have.length(1);
  });
});

describe('tf.node.tensorBoard', () => {
  onTftrt();
  const folder = useTemporaryFolder();

  async function train(callback: tf.CustomCallback): Promise<tf.LayersModel> {
    const model = tf.sequential({
      layers: [tf.layers.dense({ units: 1, inputShape: [2], name: `d${Date.now()}` })],
    });
    model.compile({ loss: 'meanSquaredError', optimizer: 'sgd', metrics: ['mae'] });
    const [xs, ys] = [tf.ones([4, 2]), tf.ones([4, 1])];
    await model.fit(xs, ys, {
      epochs: 2,
      batchSize: 2,
      validationData: [xs, ys],
      callbacks: callback,
      verbose: 0,
    });
    return model;
  }
  const tagsAndSteps = (kind: string) =>
    readEvents(path.join(folder(), kind)).map(({ tag, step }) => `${tag} ${step}`);

  it('writes losses and metrics of epochs', async () => {
    await train(node.tensorBoard(folder()));
    const epochs = ['epoch_loss 1', 'epoch_mae 1', 'epoch_loss 2', 'epoch_mae 2'];
    expect(tagsAndSteps('train')).to.have.members(epochs);
    expect(tagsAndSteps('val')).to.have.members(epochs);
  });

  it('writes those of batches, and weights', async () => {
    const model = await train(node.tensorBoard(folder(), { updateFreq: 'batch', histogramFreq: 1 }));
    const batches = [1, 2, 3, 4].flatMap((step) => [`batch_loss ${step}`, `batch_mae ${step}`]);
    const weights = model.weights.flatMap(({ name }) => [`${name} 0`, `${name} 1`]);
    expect(tagsAndSteps('train')).to.include.members([...batches, 'epoch_loss 1', ...weights]);
    expect(tagsAndSteps('train').length).to.equal(batches.length + 4 + weights.length);
  });

  it('has defaults, and refuses wrong frequencies', async () => {
    expect((await errorOf(() => node.tensorBoard(7 as never))).message).to.include('for logdir, got 7.');
    expect(node.tensorBoard().logdir).to.equal('./logs');
    const frequencies: Array<[string, object]> = [
      ["Expected updateFreq to be 'batch' or 'epoch', but got step", { updateFreq: 'step' }],
      ['Expected histogramFreq to be a positive integer, but got -1', { histogramFreq: -1 }],
      ['Expected histogramFreq to be a positive integer, but got 0.5', { histogramFreq: 0.5 }],
    ];
    for (const [text, args] of frequencies) {
      expect((await errorOf(() => node.tensorBoard(folder(), args))).message).to.equal(text);
    }
  });
});
