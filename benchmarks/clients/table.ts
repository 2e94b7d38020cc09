import type { Machine } from '../machine';
import { markdownTable } from '../markdown_table';
import { SIDES } from '../sides';
import { median } from '../statistics';
import type { ClientResult } from './results';

interface Where {
  readonly date: string;
  readonly gpu?: string;
  readonly machine: Machine;
}

/** The results as a Markdown document. */
export function documentOf(results: readonly ClientResult[], { date, gpu, machine }: Where): string {
  const where = gpu ?? `${machine.cpu}, ${machine.cores} cores`;
  return [
    '# Programs for tfjs-node on both sides',
    '',
    `Packages as npm has them, once through \`replace-tfjs-node\`, once on tfjs-node-gpu 4.22.0. ${where}; Node ${machine.node}; both on TensorFlow ${machine.versions.tftrt?.tensorflow}; ${date}. Made by \`benchmarks/clients\`.`,
    '',
    'Difference: the largest of all numbers found, as a share of the larger one (of 1, if both are smaller). Times in ms; opening loads package, backend and models.',
    '',
    markdownTable(
      [
        ...['package', 'work', 'difference', 'tensors left'],
        ...SIDES.map((side) => `opening, ${side}`),
        ...SIDES.map((side) => `first, ${side}`),
        ...[...SIDES, 'tftrt / peer', 'lowest–highest'],
      ],
      results.map(row),
    ),
    '',
  ].join('\n');
}

function row({ name, version, about, difference, times, ratios, tensorsLeft }: ClientResult): string[] {
  const { largest, others } = difference;
  return [
    `${name} ${version}`,
    about,
    others.length > 0 ? `OTHERS: ${others.join('; ')}` : largest === 0 ? '0' : largest.toExponential(1),
    SIDES.map((side) => tensorsLeft[side]).join(', '),
    ...SIDES.map((side) => times[side].open.toFixed(0)),
    ...SIDES.map((side) => times[side].first.toFixed(0)),
    ...SIDES.map((side) => times[side].median.toFixed(1)),
    median(ratios).toFixed(2),
    `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`,
  ];
}
