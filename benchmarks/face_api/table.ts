import { markdownTable } from '../markdown_table';
import { SIDES } from '../sides';
import { median } from '../statistics';
import type { PhotoResult, Results } from './results';

/** More than this much CPU use by other programs deserves a word. */
const NOTABLE_CORES = 0.1;

/** The results as a Markdown document. */
export function documentOf(results: Results): string {
  const { machine, photos, starts } = results;
  const where = results.gpu ?? `${machine.cpu}, ${machine.cores} cores`;
  const versions = SIDES.map((side) => `${side}: TensorFlow ${machine.versions[side]?.tensorflow}`).join(
    ', ',
  );
  return [
    '# face-api on both sides',
    '',
    `@vladmandic/face-api 1.7.15, its Node build, unmodified, and its six photos. ${where}; Node ${machine.node}; ${versions}; ${results.date}.`,
    'Made by `benchmarks/face_api`.',
    '',
    '## What is found',
    '',
    'The largest differences between this package and the peer, over all faces of a photo; pixels are those of photos 1920 wide.',
    '',
    markdownTable(
      [
        ...['photo', 'faces', 'faces, peer', 'scores', 'score differs', 'box (px)', 'landmark (px)'],
        ...['descriptors, distance', 'age (years)', 'expression', 'same gender'],
      ],
      photos.map(foundRow),
    ),
    '',
    '## Times',
    '',
    `ms for one photo: decoding it, detection, 68 landmarks, expression, descriptor, age and gender of each face. ${results.rounds} rounds of fresh processes that take turns; 4 turns each a round.`,
    '',
    markdownTable(
      ['photo', ...SIDES.map((side) => `first, ${side}`), ...SIDES, 'tftrt / peer', 'lowest–highest'],
      [...photos.map(timesRow), ['all', '', '', '', '', ...ratioCells(results.ratios)]],
    ),
    '',
    ...SIDES.map(
      (side) =>
        `- ${side}: loading face-api and the backend ${starts[side].openMs.toFixed(0)} ms, its five nets ${starts[side].netsMs.toFixed(0)} ms; tensors left over: ${results.tensorsLeft[side]}${busyNote(results.coresOfOthers[side])}`,
    ),
    '',
  ].join('\n');
}

function foundRow({ name, photos, agreement }: PhotoResult): string[] {
  const { tftrt, peer } = photos;
  return [
    name,
    String(tftrt.faces.length),
    `${peer.faces.length}${agreement.sameFaces ? ', the same' : ', OTHERS'}`,
    tftrt.faces.map(({ score }) => score.toFixed(3)).join(' '),
    ...[agreement.score, agreement.box, agreement.landmark, agreement.descriptor].map(small),
    ...[agreement.age, agreement.expression].map(small),
    agreement.sameGender ? 'yes' : 'NO',
  ];
}

function timesRow({ name, times, ratios }: PhotoResult): string[] {
  return [
    name,
    ...SIDES.map((side) => times[side].first.toFixed(0)),
    ...SIDES.map((side) => times[side].median.toFixed(1)),
    ...ratioCells(ratios),
  ];
}

function ratioCells(ratios: readonly number[]): string[] {
  return [median(ratios).toFixed(2), `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`];
}

function busyNote(cores: number): string {
  return cores > NOTABLE_CORES ? `; other programs used ${cores.toFixed(2)} cores during its turns` : '';
}

function small(value: number): string {
  return value === 0 ? '0' : value.toExponential(1);
}
