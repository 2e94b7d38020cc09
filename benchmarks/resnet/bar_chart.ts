import { FAINT, round, svgDocument, text } from '../svg';

/** One bar. */
export interface Bar {
  readonly label: string;
  readonly value: number;
  /** Where a thin line from the bar's end leads to. */
  readonly upTo?: number;
  /** What stands behind the bar. */
  readonly text: string;
  readonly color: string;
}

/** Bars on an axis of their own that starts at 0. */
export interface Panel {
  readonly title: string;
  readonly bars: readonly Bar[];
}

const WIDTH = 900;
const MARGIN = 24;
/** Where bars begin, and how long the longest may be: labels stand on the left, texts on the right. */
const BARS_AT = 260;
const BARS_WIDTH = 400;
const BAR = 18;
const STEP = 26;
const PANEL_TITLE = 40;
const HEADER = 64;
const FOOTER = 24;
const GRID = '#dfe3e8';

/** Horizontal bars in panels, one below the other, as an SVG document. */
export function barChart(title: string, subtitle: string, panels: readonly Panel[]): string {
  const parts: string[] = [];
  let y = HEADER;
  for (const panel of panels) {
    parts.push(...drawPanel(panel, y));
    y += PANEL_TITLE + panel.bars.length * STEP + FOOTER;
  }
  return svgDocument(WIDTH, y, [
    text(MARGIN, 30, title, 'font-size="18" font-weight="bold"'),
    text(MARGIN, 50, subtitle, `fill="${FAINT}" font-size="12"`),
    ...parts,
  ]);
}

function drawPanel({ title, bars }: Panel, top: number): string[] {
  const longest = Math.max(...bars.map(({ value, upTo }) => Math.max(value, upTo ?? 0)));
  const x = (value: number) => BARS_AT + (value / longest) * BARS_WIDTH;
  const first = top + PANEL_TITLE;
  const bottom = first + bars.length * STEP;
  const parts = [text(MARGIN, top + 24, title, 'font-weight="bold" font-size="14"')];
  for (const tick of ticks(longest)) {
    parts.push(line(x(tick), first - 4, x(tick), bottom, GRID));
    parts.push(
      text(
        x(tick),
        bottom + 14,
        tick.toLocaleString('en'),
        `text-anchor="middle" font-size="11" fill="${FAINT}"`,
      ),
    );
  }
  for (const [i, bar] of bars.entries()) {
    const y = first + i * STEP;
    const middle = y + BAR / 2;
    const end = x(Math.max(bar.value, bar.upTo ?? 0));
    parts.push(text(BARS_AT - 8, middle + 4.5, bar.label, 'text-anchor="end"'));
    parts.push(
      `<rect x="${BARS_AT}" y="${y}" width="${round(x(bar.value) - BARS_AT)}" height="${BAR}" fill="${bar.color}"/>`,
    );
    if (bar.upTo !== undefined && bar.upTo > bar.value) {
      parts.push(line(x(bar.value), middle, x(bar.upTo), middle, FAINT));
      parts.push(line(x(bar.upTo), middle - 4, x(bar.upTo), middle + 4, FAINT));
    }
    parts.push(
      text(end + 8, middle + 4.5, bar.text, 'paint-order="stroke" stroke="#ffffff" stroke-width="4"'),
    );
  }
  parts.push(line(BARS_AT, first - 4, BARS_AT, bottom, FAINT));
  return parts;
}

/** Three to six round values from 0 to the longest bar. */
function ticks(longest: number): number[] {
  const power = 10 ** Math.floor(Math.log10(longest));
  const step = [0.2, 0.5, 1, 2, 5].map((factor) => factor * power).find((size) => longest / size <= 6)!;
  const count = Math.floor(longest / step);
  return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(6)));
}

function line(x1: number, y1: number, x2: number, y2: number, color: string): string {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" stroke="${color}"/>`;
}
