import { CustomCallback, type Logs, nextFrame, util } from '@tensorflow/tfjs';
import { ProgressLine, type ProgressStream } from './progress_line';

/** What tfjs puts among a batch's metrics. */
const NO_METRICS: ReadonlySet<string> = new Set(['batch', 'size']);
const DIGITS = 2;
const MAX_DECIMAL_PLACES = 4;

/**
 * What `fit` and `fitDataset` print unless `verbose` is 0: a line when an epoch begins and one with its time, losses and
 * metrics when it ends; and between them, on a terminal, how far it is.
 */
export class ProgbarLogger extends CustomCallback {
  private batchesPerEpoch = 0;
  private batches = 0;
  private begun = 0;
  private trainingMs: number | null = null;
  private line: ProgressLine | null = null;

  constructor(private readonly stream: ProgressStream = process.stderr) {
    super({
      onTrainBegin: async () => {
        const { samples, batchSize, steps } = this.params as Record<string, number | undefined | null>;
        // Not known of a data set whose size is not.
        this.batchesPerEpoch = (samples != null ? Math.ceil(samples / batchSize!) : steps) ?? 0;
      },
      onEpochBegin: async (epoch) => {
        console.log(`Epoch ${epoch + 1} / ${this.params.epochs}`);
        this.begun = util.now();
        this.batches = 0;
        this.trainingMs = null;
        this.line = new ProgressLine(this.batchesPerEpoch, this.stream);
      },
      onBatchEnd: async (_batch, logs) => {
        this.batches++;
        this.line?.update(this.batches, metricsText(logs));
        await nextFrame();
        if (this.batches === this.batchesPerEpoch) this.trainingMs = util.now() - this.begun;
      },
      onEpochEnd: async (_epoch, logs) => {
        // Validation is in it only where it was not known which batch is the last.
        const ms = this.trainingMs ?? util.now() - this.begun;
        const steps = (this.params.samples as number | null | undefined) ?? this.batches;
        this.line?.end();
        console.log(`${ms.toFixed(0)}ms ${((ms / steps) * 1e3).toFixed(0)}us/step - ${metricsText(logs)}`);
        await nextFrame();
      },
    });
  }
}

/** `acc=0.50 loss=1.25 `, by name. */
function metricsText(logs: Logs = {}): string {
  const names = Object.keys(logs).filter((name) => !NO_METRICS.has(name));
  return names
    .sort()
    .map((name) => `${name}=${succinct(logs[name]!)} `)
    .join('');
}

/** Two significant digits behind the point: `1.25`, `0.012`; `1.23e-5` for what would need too many places. */
export function succinct(value: number): string {
  const places =
    !Number.isFinite(value) || value === 0 || Math.abs(value) > 1
      ? DIGITS
      : DIGITS - Math.floor(Math.log10(Math.abs(value)));
  return places > MAX_DECIMAL_PLACES ? value.toExponential(DIGITS) : value.toFixed(places);
}
