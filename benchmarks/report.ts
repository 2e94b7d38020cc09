import { align } from './align';
import { SIDES } from './sides';
import { median } from './statistics';
import type { Verdict } from './targets';
import type { CaseResult, SideName, SideResult } from './types';

const COLUMNS = ['case', 'unit', 'side', 'min', 'median', 'p90', 'p95', 'p99', 'tftrt / peer', ''];
const LEFT_ALIGNED = new Set([0, 1, 2, 8, 9]);
/** More than this much CPU use by anything but the side whose turn it is deserves a word. */
const NOTABLE_CORES = 0.1;

/** The results as a table, a row for each side of each case. */
export function tableOf(results: readonly CaseResult[]): string {
  const rows = results.flatMap((result) =>
    SIDES.flatMap((side) => {
      const figures = result.sides[side];
      return figures === undefined ? [] : [rowOf(result, side, figures)];
    }),
  );
  return align([COLUMNS, ...rows], LEFT_ALIGNED);
}

/** Titles, extra figures and warnings, case by case. */
export function notesOf(results: readonly CaseResult[]): string {
  return results.flatMap((result) => [`${result.name}: ${result.title}`, ...detailsOf(result)]).join('\n');
}

/** One line for each target. */
export function verdictLines(verdicts: readonly Verdict[]): string {
  return verdicts
    .map(({ case: name, target, value, pass }) => {
      const figure = value === undefined ? 'not measured' : format(value);
      return `${pass ? 'pass' : 'FAIL'}  ${name}: ${target}: ${figure}`;
    })
    .join('\n');
}

function rowOf(result: CaseResult, side: SideName, figures: SideResult): string[] {
  const first = side === SIDES.find((name) => result.sides[name] !== undefined);
  const { min, median, p90, p95, p99 } = figures;
  return [
    first ? result.name : '',
    first ? result.unit : '',
    side,
    ...[min, median, p90, p95, p99].map(format),
    ...(first ? ratioCells(result) : ['', '']),
  ];
}

function ratioCells({ ratios, better }: CaseResult): string[] {
  if (ratios.length === 0) return ['', ''];
  const ratio = median(ratios);
  const speed = better === 'lower' ? 1 / ratio : ratio;
  return [
    `${format(ratio)} (${format(Math.min(...ratios))}–${format(Math.max(...ratios))})`,
    `${format(speed)}× as ${better === 'lower' ? 'fast' : 'many'}`,
  ];
}

function detailsOf(result: CaseResult): string[] {
  return SIDES.flatMap((side) => {
    const figures = result.sides[side];
    if (figures === undefined) return [];
    const facts = [
      `${figures.count} samples`,
      `library ${format(figures.openMs)} ms`,
      `load and first run ${format(figures.firstRunMs)} ms`,
      ...Object.entries(figures.figures).map(([name, value]) => `${name}: ${format(value)}`),
    ];
    const lines = [`  ${side}: ${facts.join('; ')}`];
    if (figures.coresOfOthers > NOTABLE_CORES)
      lines.push(`  ! other programs used ${format(figures.coresOfOthers)} cores during its turns`);
    if (figures.coresWhileWaiting > NOTABLE_CORES)
      lines.push(`  ! it used ${format(figures.coresWhileWaiting)} cores while it waited for its turns`);
    return lines;
  });
}

/** Three significant digits, without an exponent. */
function format(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(3)));
}
