import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SummaryFileWriter } from 'tfjs-backend-tftrt/node';
import { type Case, type Context, casesOf, type EventFiles } from '../types';

/** As programs in JavaScript may call it. */
interface Loose {
  scalar(...args: unknown[]): void;
  histogram(...args: unknown[]): void;
}

/** Writes into the case's folder, flushes and asks for what is in the file. */
const writing =
  (write: (writer: Loose, context: Context) => void, how: Pick<EventFiles, 'stored'> = {}) =>
  (context: Context): EventFiles => {
    const writer = context.tf.node.summaryFileWriter(context.folder);
    write(writer as unknown as Loose, context);
    writer.flush();
    return { eventFiles: context.folder, ...how };
  };

const scalars = casesOf('summaryFileWriter', {
  'scalar: numbers': writing((writer) => {
    [0, 1, -1.5, 1e-30, 1e38, 0.1].forEach((value, step) => {
      writer.scalar('loss', value, step);
    });
  }),
  'scalar: NaN, infinities, what float32 cannot hold': writing((writer) => {
    [Number.NaN, Infinity, -Infinity, 1e39, 16777217].forEach((value, step) => {
      writer.scalar('x', value, step);
    });
  }),
  'scalar: tensors': writing((writer, { tf }) => {
    writer.scalar('float', tf.scalar(1.5), 1);
    writer.scalar('int', tf.scalar(7, 'int32'), 2);
    writer.scalar('computed', tf.scalar(2).add(1), 3);
  }),
  'scalar: a bool tensor': writing((writer, { tf }) => writer.scalar('x', tf.scalar(true, 'bool'), 1)),
  'scalar: a string tensor': writing((writer, { tf }) => writer.scalar('x', tf.scalar('a', 'string'), 1)),
  'scalar: a tensor of rank 1': writing((writer, { tf }) => writer.scalar('x', tf.tensor1d([1]), 1)),
  'scalar: a disposed tensor': writing((writer, { tf }) => {
    const gone = tf.scalar(1);
    gone.dispose();
    writer.scalar('x', gone, 1);
  }),
  'scalar: steps': writing((writer) => {
    for (const step of [0, 1, -1, 1_000_000, 2 ** 31 - 2, -(2 ** 31) + 1]) writer.scalar('x', 1, step);
  }),
  'scalar: steps beyond int32': writing((writer) => {
    for (const step of [
      2 ** 31 - 1,
      2 ** 31,
      2 ** 32,
      2 ** 53 - 1,
      -(2 ** 31),
      -(2 ** 31) - 1,
      -(2 ** 32) - 1,
    ])
      writer.scalar('x', 1, step);
  }),
  'scalar: a step above 2^53': writing((writer) => writer.scalar('x', 1, 2 ** 60)),
  'scalar: step 0.5': writing((writer) => writer.scalar('x', 1, 0.5)),
  'scalar: step NaN': writing((writer) => writer.scalar('x', 1, Number.NaN)),
  'scalar: no step': writing((writer) => writer.scalar('x', 1)),
  "scalar: step '1'": writing((writer) => writer.scalar('x', 1, '1')),
  'scalar: names': writing((writer) => {
    for (const name of ['a/b/c', 'a b', 'żółw 日本', 'x'.repeat(1000)]) writer.scalar(name, 1, 1);
  }),
  "scalar: name ''": writing((writer) => writer.scalar('', 1, 1)),
  'scalar: name undefined': writing((writer) => writer.scalar(undefined, 1, 1)),
  'scalar: name 7': writing((writer) => writer.scalar(7, 1, 1)),
  'scalar: value undefined': writing((writer) => writer.scalar('x', undefined, 1)),
  'scalar: value null': writing((writer) => writer.scalar('x', null, 1)),
  "scalar: value '1'": writing((writer) => writer.scalar('x', '1', 1)),
  'scalar: value true': writing((writer) => writer.scalar('x', true, 1)),
  'scalar: a description': writing((writer) => writer.scalar('x', 1, 1, 'about')),
  'scalar: an empty description': writing((writer) => writer.scalar('x', 1, 1, '')),
  'scalar: the description is null': writing((writer) => writer.scalar('x', 1, 1, null)),
  'scalar: the same step twice': writing((writer) => {
    writer.scalar('x', 1, 1);
    writer.scalar('x', 2, 1);
  }),
});

const histograms = casesOf('summaryFileWriter', {
  'histogram: four buckets': writing((writer, { tf }) =>
    writer.histogram('h', tf.tensor1d([0, 1, 2, 3, 4]), 1, 4),
  ),
  'histogram: 30 buckets': writing((writer, { tf }) => writer.histogram('h', tf.linspace(-3, 3, 200), 1)),
  'histogram: buckets undefined': writing((writer, { tf }) =>
    writer.histogram('h', tf.linspace(0, 1, 11), 1, undefined),
  ),
  'histogram: buckets null': writing((writer, { tf }) =>
    writer.histogram('h', tf.linspace(0, 1, 11), 1, null),
  ),
  'histogram: one bucket': writing((writer, { tf }) => writer.histogram('h', tf.tensor1d([1, 2, 4]), 1, 1)),
  'histogram: no bucket': writing((writer, { tf }) => writer.histogram('h', tf.tensor1d([1, 2]), 1, 0)),
  'histogram: 1.5 buckets': writing((writer, { tf }) => writer.histogram('h', tf.tensor1d([1, 2]), 1, 1.5)),
  'histogram: nothing': writing((writer, { tf }) => writer.histogram('h', tf.tensor1d([]), 1)),
  'histogram: one value': writing((writer, { tf }) => writer.histogram('h', tf.tensor1d([7]), 1)),
  'histogram: equal values': writing((writer, { tf }) => writer.histogram('h', tf.fill([2, 3], 5), 1, 3)),
  'histogram: a scalar': writing((writer, { tf }) => writer.histogram('h', tf.scalar(2), 1, 3)),
  'histogram: int32': writing((writer, { tf }) =>
    writer.histogram(
      'h',
      tf.tensor2d(
        [
          [1, 2],
          [3, 9],
        ],
        [2, 2],
        'int32',
      ),
      1,
      4,
    ),
  ),
  'histogram: bool': writing((writer, { tf }) =>
    writer.histogram('h', tf.tensor1d([true, false, true], 'bool'), 1, 2),
  ),
  'histogram: strings': writing((writer, { tf }) => writer.histogram('h', tf.tensor1d(['a']), 1, 2)),
  'histogram: complex': writing((writer, { tf }) => writer.histogram('h', tf.complex([1], [2]), 1, 2)),
  'histogram: rank 4': writing((writer, { tf }) =>
    writer.histogram('h', tf.range(0, 24).reshape([2, 3, 2, 2]), 1, 5),
  ),
  'histogram: with NaN': writing((writer, { tf }) =>
    writer.histogram('h', tf.tensor1d([1, Number.NaN, 3]), 1, 2),
  ),
  'histogram: with an infinity': writing((writer, { tf }) =>
    writer.histogram('h', tf.tensor1d([1, Infinity, 3]), 1, 2),
  ),
  'histogram: very large and very small': writing((writer, { tf }) =>
    writer.histogram('h', tf.tensor1d([-3e38, 0, 1e-38, 3e38]), 1, 2),
  ),
  'histogram: a description': writing((writer, { tf }) =>
    writer.histogram('h', tf.tensor1d([1, 2]), 1, 2, '# about *it*'),
  ),
  'histogram: an empty description': writing((writer, { tf }) =>
    writer.histogram('h', tf.tensor1d([1, 2]), 1, 2, ''),
  ),
  'histogram: the description is null': writing((writer, { tf }) =>
    writer.histogram('h', tf.tensor1d([1, 2]), 1, 2, null),
  ),
  'histogram: how the values are stored': writing(
    (writer, { tf }) => writer.histogram('h', tf.tensor1d([1, 2]), 1, 2),
    { stored: true },
  ),
  'histogram: steps': writing((writer, { tf }) => {
    for (const step of [0, -1, 1000]) writer.histogram('h', tf.tensor1d([1, 2]), step, 2);
  }),
  'histogram: step 0.5': writing((writer, { tf }) => writer.histogram('h', tf.tensor1d([1]), 0.5)),
  'histogram: a list of numbers': writing((writer) => writer.histogram('h', [1, 2, 3], 1)),
  'histogram: undefined': writing((writer) => writer.histogram('h', undefined, 1)),
  'histogram: a disposed tensor': writing((writer, { tf }) => {
    const gone = tf.tensor1d([1, 2]);
    gone.dispose();
    writer.histogram('h', gone, 1);
  }),
  'histogram: nothing is left in memory': ({ tf, folder }) => {
    const writer = tf.node.summaryFileWriter(folder);
    const data = tf.tensor1d([1, 2, 3]);
    const before = tf.memory().numTensors;
    writer.histogram('h', data, 1, 2);
    writer.scalar('x', 1, 1);
    return tf.memory().numTensors - before;
  },
});

const create = (name: string, ...args: unknown[]) =>
  casesOf('summaryFileWriter', {
    [`summaryFileWriter: ${name}`]: ({ tf, folder }) => {
      const writer = (tf.node.summaryFileWriter as (...all: unknown[]) => SummaryFileWriter)(folder, ...args);
      writer.scalar('x', 1, 1);
      writer.flush();
      return { eventFiles: folder };
    },
  });

const writers = [
  ...create('maxQueue: 0', 0),
  ...create('maxQueue: 1.5', 1.5),
  ...create('maxQueue: -1', -1),
  ...create('maxQueue: null', null),
  ...create('flushMillis: 0', 10, 0),
  ...create('flushMillis: -1', 10, -1),
  ...create('flushMillis: null', 10, null),
  ...create('flushMillis: 1e12', 10, 1e12),
  ...create("filenameSuffix: '.mine'", 10, 1000, '.mine'),
  ...create('filenameSuffix: null', 10, 1000, null),
  ...create("filenameSuffix: ''", 10, 1000, ''),
  ...casesOf('summaryFileWriter', {
    "logdir: ''": ({ tf }) => tf.node.summaryFileWriter(''),
    'logdir: undefined': ({ tf }) => tf.node.summaryFileWriter(undefined as never),
    'logdir: 7': ({ tf }) => tf.node.summaryFileWriter(7 as never),
    'logdir: several folders that are not there': ({ tf, folder }) => {
      const writer = tf.node.summaryFileWriter(join(folder, 'a', 'b', 'c'));
      writer.scalar('x', 1, 1);
      writer.flush();
      return { eventFiles: join(folder, 'a', 'b', 'c') };
    },
    'logdir: a relative path': ({ tf, folder }) => {
      const writer = tf.node.summaryFileWriter('here');
      writer.scalar('x', 1, 1);
      writer.flush();
      return { eventFiles: join(folder, 'here') };
    },
    'logdir: below a file': ({ tf, folder }) => {
      writeFileSync(join(folder, 'file'), '');
      return tf.node.summaryFileWriter(join(folder, 'file', 'x'));
    },
    'the same folder: the same writer': ({ tf, folder }) => {
      const first = tf.node.summaryFileWriter(folder);
      return tf.node.summaryFileWriter(folder) === first;
    },
    'the names of files': ({ tf, folder }) => {
      tf.node.summaryFileWriter(folder, 10, 1000, '.mine').flush();
      return readdirSync(folder).map((name) =>
        name.replace(/tfevents\..*\.mine/, 'tfevents.<time and place>.mine'),
      );
    },
    'one writer of two folders': ({ tf, folder }) => {
      for (const name of ['one', 'two']) {
        mkdirSync(join(folder, name));
        const writer = tf.node.summaryFileWriter(join(folder, name));
        writer.scalar(name, 1, 1);
        writer.flush();
      }
      return { eventFiles: join(folder, 'one') };
    },
    'what is not flushed is written when the process ends': ({ tf, folder }) => {
      tf.node.summaryFileWriter(folder).scalar('x', 1, 1);
      return { eventFiles: folder };
    },
    'flush twice': ({ tf, folder }) => {
      const writer = tf.node.summaryFileWriter(folder);
      writer.flush();
      writer.flush();
      return { eventFiles: folder };
    },
  }),
];

export const summaryCases: readonly Case[] = [...scalars, ...histograms, ...writers];
