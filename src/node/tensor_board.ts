import path from 'node:path';
import { CustomCallback, type LayersModel, type Logs } from '@tensorflow/tfjs';
import { TftrtError } from '../errors';
import { type SummaryFileWriter, summaryFileWriter } from './summary_writer';

export interface TensorBoardCallbackArgs {
  /** When losses and metrics are written: at the end of each epoch (the default), or of each batch too. */
  updateFreq?: 'batch' | 'epoch';
  /** After how many epochs the weights are written as histograms; 0, the default: never. */
  histogramFreq?: number;
}

/** What tfjs puts among a batch's metrics. */
const NO_METRICS: ReadonlySet<string> = new Set(['batch', 'size', 'num_steps']);
const VALIDATION = 'val_';

/** Writes losses and metrics of a training for TensorBoard: into `train` and `val` of the folder. Made by `tensorBoard`. */
export class TensorBoardCallback extends CustomCallback {
  private model: LayersModel | null = null;
  private batchesSeen = 0;

  constructor(
    readonly logdir = './logs',
    args: TensorBoardCallbackArgs = {},
  ) {
    if (typeof logdir !== 'string' || logdir === '') {
      throw new TftrtError(
        'TFTRT_INVALID_ARGUMENT',
        `tensorBoard takes a non-empty string for logdir, got ${logdir}.`,
      );
    }
    // Null, too, is none given.
    const updateFreq = args?.updateFreq ?? 'epoch';
    const histogramFreq = args?.histogramFreq ?? 0;
    checkFrequencies(updateFreq, histogramFreq);
    super({
      onBatchEnd: async (_batch, logs) => {
        this.batchesSeen++;
        if (updateFreq === 'batch') this.writeMetrics('batch_', logs, this.batchesSeen);
      },
      onEpochEnd: async (epoch, logs) => {
        this.writeMetrics('epoch_', logs, epoch + 1);
        if (histogramFreq > 0 && epoch % histogramFreq === 0) this.writeWeights(epoch);
      },
      onTrainEnd: async () => {
        for (const writer of this.used) writer.flush();
      },
    });
  }

  private readonly used = new Set<SummaryFileWriter>();

  override setModel(model: LayersModel): void {
    this.model = model;
  }

  private writeMetrics(prefix: string, logs: Logs = {}, step: number): void {
    for (const [key, value] of Object.entries(logs)) {
      if (NO_METRICS.has(key)) continue;
      const validation = key.startsWith(VALIDATION);
      const name = prefix + (validation ? key.slice(VALIDATION.length) : key);
      this.writer(validation ? 'val' : 'train').scalar(name, value, step);
    }
  }

  private writeWeights(step: number): void {
    for (const weight of this.model?.weights ?? []) {
      this.writer('train').histogram(weight.name, weight.read(), step);
    }
  }

  private writer(kind: 'train' | 'val'): SummaryFileWriter {
    const writer = summaryFileWriter(path.join(this.logdir, kind));
    this.used.add(writer);
    return writer;
  }
}

function checkFrequencies(updateFreq: string, histogramFreq: number): void {
  const problem = !['batch', 'epoch'].includes(updateFreq)
    ? `Expected updateFreq to be 'batch' or 'epoch', but got ${updateFreq}`
    : !Number.isInteger(histogramFreq) || histogramFreq < 0
      ? `Expected histogramFreq to be a positive integer, but got ${histogramFreq}`
      : null;
  if (problem !== null) throw new TftrtError('TFTRT_INVALID_ARGUMENT', problem);
}

/** A callback for `fit` and `fitDataset` that writes losses and metrics, and weights if wanted, for TensorBoard. */
export function tensorBoard(logdir = './logs', args?: TensorBoardCallbackArgs): TensorBoardCallback {
  return new TensorBoardCallback(logdir, args ?? {});
}
