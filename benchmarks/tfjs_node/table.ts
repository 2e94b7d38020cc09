import { markdownTable } from '../markdown_table';
import { SIDES } from '../sides';
import type { Comparison, Verdict } from './compare';
import type { Outcome } from './types';

const VERDICTS: readonly Verdict[] = ['same', 'both refuse', 'deliberate', 'differs'];
/** As much of an answer as a cell of the table shows. */
const CELL = 160;

/** The comparison as a Markdown document. */
export function documentOf(comparisons: readonly Comparison[], where: string): string {
  const members = [...new Set(comparisons.map(({ member }) => member))];
  const count = (of: readonly Comparison[], verdict: Verdict) =>
    String(of.filter((one) => one.verdict === verdict).length);
  const row = (name: string, of: readonly Comparison[]) => [
    name,
    String(of.length),
    ...VERDICTS.map((verdict) => count(of, verdict)),
  ];
  const reasons = new Map<string, Comparison[]>();
  for (const one of comparisons)
    if (one.reason !== undefined) reasons.set(one.reason, [...(reasons.get(one.reason) ?? []), one]);
  const differing = comparisons.filter(({ verdict }) => verdict === 'differs');
  return [
    '# The members of `tf.node` on this package and on tfjs-node-gpu',
    '',
    `${where} Made by \`benchmarks/tfjs_node\`; its cases are in \`benchmarks/tfjs_node/cases\`.`,
    '',
    '`same`: equal values or the same error. `both refuse`: both throw, in other words. `deliberate`: see below.',
    '',
    markdownTable(
      ['member', 'cases', ...VERDICTS],
      [
        ...members.map((member) =>
          row(
            `\`${member}\``,
            comparisons.filter((one) => one.member === member),
          ),
        ),
        row('all', comparisons),
      ],
    ),
    '',
    ...(differing.length === 0 ? [] : ['## Differences that should not be', '', answers(differing), '']),
    '## Deliberate differences',
    '',
    ...[...reasons].flatMap(([reason, of]) => [reason, '', answers(of), '']),
    '## Refused by both',
    '',
    answers(comparisons.filter(({ verdict }) => verdict === 'both refuse')),
    '',
  ].join('\n');
}

function answers(of: readonly Comparison[]): string {
  return markdownTable(
    ['member', 'case', ...SIDES],
    of.map(({ member, name, outcomes }) => [
      `\`${member}\``,
      name,
      ...SIDES.map((side) => cell(outcomes[side])),
    ]),
  );
}

function cell(outcome: Outcome): string {
  if ('died' in outcome) return `**the process ended**: ${shorten(outcome.died)}`;
  if ('error' in outcome) return `${outcome.how}: ${shorten(outcome.error)}`;
  return `\`${shorten(JSON.stringify(outcome.value))}\``;
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return line.length > CELL ? `${line.slice(0, CELL)}…` : line;
}
