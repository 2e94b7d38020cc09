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

function row({ name, version, about, times, ratios, tensorsLeft, ...others }: ClientResult): string[] {
  const figures = (figure: 'open' | 'first' | 'median') =>
    SIDES.map((side) => times[side]?.[figure].toFixed(figure === 'median' ? 1 : 0) ?? '');
  return [
    `${name} ${version}`,
    about,
    differenceIn(others),
    Object.values(tensorsLeft).join(', '),
    ...figures('open'),
    ...figures('first'),
    ...figures('median'),
    ...(ratios.length === 0
      ? ['', '']
      : [median(ratios).toFixed(2), `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`]),
  ];
}

function differenceIn({ difference, peerLacks }: Pick<ClientResult, 'difference' | 'peerLacks'>): string {
  if (difference === undefined) return `the peer cannot: ${peerLacks}`;
  const { largest, others } = difference;
  if (others.length > 0) return `OTHERS: ${others.join('; ')}`;
  return largest === 0 ? '0' : largest.toExponential(1);
}
