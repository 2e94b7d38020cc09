import { type Scalar, Tensor } from '@tensorflow/tfjs-core';
import { tftrtBackend } from '../backend/active';
import { type CallOperand, KernelCall, type Value } from '../backend/kernels/call';
import { TftrtError } from '../errors';
import { makeFolder } from '../setup/make_folder';
import { countInBuckets } from './histogram';
import { histogramMetadata } from './summary_metadata';

const LARGEST_INT32 = 2 ** 31 - 1;
/** More than anybody looks at, and what takes no time. */
const MOST_BUCKETS = 1_000_000;

/** Writes event files for TensorBoard. Made by `summaryFileWriter`. */
export class SummaryFileWriter {
  /** @internal */
  constructor(private readonly logdir: string) {}

  /** Writes a number, or a tensor with one, under a name; `step`: an integer. */
  scalar(name: string, value: Scalar | number, step: number, description?: string): void {
    if (description != null) throw invalid('scalar() does not support description yet');
    requireName('scalar', name);
    requireStep(step);
    requireScalar(value);
    this.call((call, writer) => {
      const number = typeof value === 'number' ? call.tensor(Float32Array.of(value), [], 'float32') : value;
      call.runAll('WriteScalarSummary', [writer, int64(call, step), call.string(name), number]);
    });
  }

  /**
   * Writes how the elements of a tensor are distributed, whatever its shape: counts in so many `buckets` (by default 30) of equal
   * width. NaN and the infinities are left out. `step`: an integer; `description`: Markdown.
   */
  histogram(name: string, data: Tensor, step: number, buckets?: number, description?: string): void {
    requireName('histogram', name);
    requireStep(step);
    if (buckets !== undefined && !(Number.isInteger(buckets) && buckets > 0)) {
      throw invalid(`Expected bucket count to be a strictly positive integer, but it was ${shown(buckets)}`);
    }
    if (buckets !== undefined && buckets > MOST_BUCKETS) {
      throw invalid(`Expected bucket count to be at most ${MOST_BUCKETS}, but it was ${buckets}`);
    }
    if (!(data instanceof Tensor) || !['float32', 'int32', 'bool'].includes(data.dtype)) {
      throw invalid(`histogram() takes a tensor of float32, int32 or bool for data, got ${shown(data)}.`);
    }
    if (description != null && typeof description !== 'string') {
      throw invalid(`histogram() takes a string for description, got ${shown(description)}.`);
    }
    const rows = countInBuckets(data.dataSync(), buckets);
    this.call((call, writer) => {
      const counts = call.tensor(rows, [rows.length / 3, 3], 'float64');
      const metadata = call.string(histogramMetadata(description ?? ''));
      call.runAll('WriteSummary', [writer, int64(call, step), counts, call.string(name), metadata]);
    });
  }

  /** Writes to the file what is still in memory. */
  flush(): void {
    this.call((call, writer) => void call.runAll('FlushSummaryWriter', [writer]));
  }

  /** @internal Opens the file. */
  create(maxQueue: number, flushMillis: number, filenameSuffix: string): void {
    this.call((call, writer) => {
      const operands: CallOperand[] = [
        writer,
        call.string(this.logdir),
        call.scalar(maxQueue),
        call.scalar(flushMillis),
        call.string(filenameSuffix),
      ];
      call.runAll('CreateSummaryFileWriter', operands);
    });
  }

  /** TensorFlow keeps the writer under its name; the handle is asked for anew, so that no backend has to keep it. */
  private call(run: (call: KernelCall, writer: Value) => void): void {
    const call = new KernelCall({}, {}, tftrtBackend());
    try {
      run(call, call.run('SummaryWriter', [], { shared_name: `logdir:${this.logdir}` }));
    } finally {
      call.end();
    }
  }
}

/** Two writers of one folder would write into the same file. */
const writers = new Map<string, SummaryFileWriter>();

/**
 * The writer of event files in a folder, always the same one of a folder. It writes to the file when more than `maxQueue` values
 * (by default 10) wait, with a value that comes `flushMillis` (two minutes) after the last time, and when the process ends.
 * `filenameSuffix`: what the file's name ends with ('.v2'). Null, too, is none given.
 */
export function summaryFileWriter(
  logdir: string,
  maxQueue?: number | null,
  flushMillis?: number | null,
  filenameSuffix?: string | null,
): SummaryFileWriter {
  if (typeof logdir !== 'string' || logdir.length === 0) {
    throw invalid(`Invalid logdir: ${logdir}. Expected a non-empty string for logdir.`);
  }
  const limits = { maxQueue: maxQueue ?? 10, flushMillis: flushMillis ?? 120_000 };
  const suffix = filenameSuffix ?? '.v2';
  for (const [name, value] of Object.entries(limits)) {
    if (!Number.isInteger(value) || value < 0 || value > LARGEST_INT32) {
      throw invalid(
        `summaryFileWriter takes an integer from 0 to ${LARGEST_INT32} for ${name}, got ${shown(value)}.`,
      );
    }
  }
  if (typeof suffix !== 'string' || suffix.includes('/')) {
    throw invalid(`summaryFileWriter takes a string without '/' for filenameSuffix, got ${shown(suffix)}.`);
  }
  let writer = writers.get(logdir);
  if (writer === undefined) {
    // TensorFlow, which would make it too, does not say what is in the way. It has other file systems, by their URLs.
    if (!/^\w+:\/\//.test(logdir)) makeFolder(logdir);
    writer = new SummaryFileWriter(logdir);
    writer.create(limits.maxQueue, limits.flushMillis, suffix);
    if (writers.size === 0) process.once('exit', flushAll);
    writers.set(logdir, writer);
  }
  return writer;
}

/** At the end of the process, where an exception would change its exit code and keep the other writers from theirs. */
function flushAll(): void {
  for (const [logdir, writer] of writers) {
    try {
      writer.flush();
    } catch (error) {
      console.warn(`The last summaries for ${logdir} are lost: ${(error as Error).message}`);
    }
  }
}

function requireName(method: string, name: unknown): void {
  if (typeof name === 'string' && name !== '') return;
  throw invalid(`${method}() takes a non-empty string for name, got ${shown(name)}.`);
}

function requireScalar(value: unknown): void {
  if (typeof value === 'number') return;
  if (value instanceof Tensor && value.rank > 0) {
    throw invalid(`A non-scalar tensor (rank ${value.rank}) is passed to writeScalarSummary() as value`);
  }
  if (value instanceof Tensor && (value.dtype === 'float32' || value.dtype === 'int32')) return;
  throw invalid(`scalar() takes a number, or a Scalar of float32 or int32, for value, got ${shown(value)}.`);
}

function requireStep(step: number): void {
  if (Number.isSafeInteger(step)) return;
  throw invalid(
    Number.isInteger(step)
      ? `step is expected to be at most 2^53 − 1 in size, but is instead ${step}`
      : `step is expected to be an integer, but is instead ${shown(step)}`,
  );
}

function int64(call: KernelCall, value: number): Value {
  return call.tensor(BigInt64Array.of(BigInt(value)), [], 'int64');
}

/** A value as a message shows it. */
function shown(value: unknown): string {
  if (value instanceof Tensor) return `a tensor of ${value.dtype} with the shape [${value.shape}]`;
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value)) return 'an array';
  return value === null || typeof value === 'number' || typeof value === 'boolean'
    ? `${value}`
    : typeof value;
}

function invalid(message: string): TftrtError {
  return new TftrtError('TFTRT_INVALID_ARGUMENT', message);
}
