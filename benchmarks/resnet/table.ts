import { align } from '../align';
import type { Results } from './results';

const COLUMNS = ['scenario', 'unit', 'contestant', 'min', 'median', 'p95', 'rounds', 'also'];
const LEFT_ALIGNED = new Set([0, 1, 2, 7]);
const MIB_64_IN_MB = (64 * 2 ** 20) / 1e6;

/** Everything as text: a row for each contestant in a scenario, then targets and errors. */
export function tableOf(results: Results): string {
  const rows = results.scenarios.flatMap(({ name, unit, rows: found }) =>
    found.map((row, i) => [
      i === 0 ? name : '',
      i === 0 ? unit : '',
      row.contestant,
      ...[row.min, row.median, row.p95].map(format),
      row.roundMedians.map(format).join(' '),
      [
        ...(name.startsWith('large') ? [`${format((results.largeBatch * 1000) / row.median)} images/s`] : []),
        ...(name === 'upload' || name === 'read' ? [`${format(MIB_64_IN_MB / row.median)} GB/s`] : []),
        ...Object.entries(row.figures).map(([figure, value]) => `${figure}: ${format(value)}`),
      ].join('; '),
    ]),
  );
  const agreements = Object.entries(results.models).flatMap(([contestant, models]) =>
    models.map(
      ({ name, agreement, engine }) =>
        `${contestant}, ${name}: ${engine ? `${engine.serving}; ` : ''}against Python's TensorFlow max. difference ` +
        `${agreement.maxAbsoluteDifference.toPrecision(3)}, same class ${Math.round(agreement.sameClass * 100)} % of ${agreement.images} images`,
    ),
  );
  const verdicts = results.verdicts.map(
    ({ target, value, pass }) =>
      `${pass ? 'pass' : 'FAIL'}  ${target}: ${value === undefined ? 'not measured' : format(value)}`,
  );
  const errors = results.errors.map((error) => `! ${error}`);
  return [align([COLUMNS, ...rows], LEFT_ALIGNED), '', ...agreements, '', ...verdicts, ...errors].join('\n');
}

function format(value: number): string {
  return value >= 1000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)));
}
