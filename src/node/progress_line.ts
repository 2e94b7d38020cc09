/** Where a line of progress is drawn: a terminal, or something like it. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const REDRAW_MS = 50;
const CLEAR = '\r\x1b[K';
/** What the time left takes at the most: `eta=12345.6 `. */
const ETA_COLUMNS = 12;

/** One line of a terminal that tells how far some work is; nothing is written where there is no terminal. */
export class ProgressLine {
  private readonly started = Date.now();
  private drawn = Number.NEGATIVE_INFINITY;

  constructor(
    /** Steps of the whole work; 0 where that is not known. */
    private readonly total: number,
    private readonly stream: ProgressStream,
  ) {}

  /** Says that so many steps are done. Draws no more often than one can see. */
  update(done: number, text: string): void {
    const now = Date.now();
    if (!this.stream.isTTY || (now - this.drawn < REDRAW_MS && done !== this.total)) return;
    this.drawn = now;
    const line = progressText(done, this.total, now - this.started, text, this.stream.columns ?? 80);
    this.stream.write(CLEAR + line);
  }

  /** Leaves the line, as it is, to what follows. */
  end(): void {
    if (this.stream.isTTY && this.drawn > 0) this.stream.write('\n');
  }
}

/** `eta=1.5 ====>---- loss=0.25`, no longer than the terminal is wide; the number of steps where the total is not known. */
export function progressText(
  done: number,
  total: number,
  elapsedMs: number,
  text: string,
  columns: number,
): string {
  if (total === 0) return `${done} ${text}`.slice(0, columns - 1);
  const width = Math.floor(columns / 2);
  const complete = Math.min(width, Math.floor((width * done) / total));
  const bar = complete < width ? `${'='.repeat(complete)}>`.padEnd(width, '-') : '='.repeat(width);
  const eta = done === 0 ? '?' : (((elapsedMs / done) * Math.max(0, total - done)) / 1000).toFixed(1);
  const room = Math.max(0, columns - width - ETA_COLUMNS);
  const shown = text.length > room ? `${text.slice(0, Math.max(0, room - 3))}...` : text;
  return `eta=${eta} ${bar} ${shown}`.slice(0, columns - 1);
}
