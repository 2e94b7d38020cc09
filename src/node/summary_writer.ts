import type { Scalar, Tensor } from '@tensorflow/tfjs-core';
import { tftrtBackend } from '../backend/active';
import { type CallOperand, KernelCall, type Value } from '../backend/kernels/call';
import { TftrtError } from '../errors';
import { countInBuckets } from './histogram';
import { histogramMetadata } from './summary_metadata';

/** Writes event files for TensorBoard. Made by `summaryFileWriter`. */
export class SummaryFileWriter {
  /** @internal */
  constructor(private readonly logdir: string) {}

  /** Writes a number, or a tensor with one, under a name; `step`: an integer. */
  scalar(name: string, value: Scalar | number, step: number, description?: string): void {
    if (description != null) throw invalid('scalar() does not support description yet');
    requireString('scalar', 'name', name);
    requireStep(step);
    if (typeof value !== 'number' && value?.rank !== 0) {
      throw invalid(
        value?.rank === undefined
          ? `scalar() takes a number or a Scalar, got ${value === null ? 'null' : typeof value}.`
          : `A non-scalar tensor (rank ${value.rank}) is passed to writeScalarSummary()`,
      );
    }
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
    requireString('histogram', 'name', name);
    if (description != null) requireString('histogram', 'description', description);
    requireStep(step);
    if (buckets !== undefined && !(Number.isInteger(buckets) && buckets > 0)) {
      throw invalid(`Expected bucket count to be a strictly positive integer, but it was ${buckets}`);
    }
    if (data?.dtype !== 'float32' && data?.dtype !== 'int32' && data?.dtype !== 'bool') {
      throw invalid(
        `histogram() takes a tensor of float32, int32 or bool, got ${data?.dtype ?? typeof data}.`,
      );
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
 * `filenameSuffix`: what the file's name ends with ('.v2').
 */
export function summaryFileWriter(
  logdir: string,
  maxQueue?: number,
  flushMillis?: number,
  filenameSuffix?: string,
): SummaryFileWriter {
  if (typeof logdir !== 'string' || logdir.length === 0) {
    throw invalid(`Invalid logdir: ${logdir}. Expected a non-empty string for logdir.`);
  }
  // Null, too, is none given.
  const queue = toInt32('maxQueue', maxQueue ?? 10);
  const millis = toInt32('flushMillis', flushMillis ?? 120_000);
  const suffix = filenameSuffix ?? '.v2';
  requireString('summaryFileWriter', 'filenameSuffix', suffix);
  let writer = writers.get(logdir);
  if (writer === undefined) {
    writer = new SummaryFileWriter(logdir);
    writer.create(queue, millis, suffix);
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

function requireStep(step: number): void {
  if (Number.isSafeInteger(step)) return;
  throw invalid(
    Number.isInteger(step)
      ? `step is expected to be at most 2^53 − 1 in size, but is instead ${step}`
      : `step is expected to be an integer, but is instead ${step}`,
  );
}

function requireString(method: string, name: string, value: string): void {
  if (typeof value === 'string') return;
  throw invalid(`${method} takes a string for ${name}, got ${value === null ? 'null' : typeof value}.`);
}

const MAX_INT32 = 2 ** 31 - 1;

/** As the op takes it: what is above its largest number means never. */
function toInt32(name: string, value: number): number {
  if (typeof value === 'number' && value >= 0) return Math.min(Math.trunc(value), MAX_INT32);
  throw invalid(`summaryFileWriter takes a number of 0 or more for ${name}, got ${value}.`);
}

function int64(call: KernelCall, value: number): Value {
  return call.tensor(BigInt64Array.of(BigInt(value)), [], 'int64');
}

function invalid(message: string): TftrtError {
  return new TftrtError('TFTRT_INVALID_ARGUMENT', message);
}
