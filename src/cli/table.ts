import { type Check, type Diagnosis, isWell, type Status } from './check';

/** How terminals show a status. */
const COLOURS: Readonly<Record<Status, number>> = { ok: 32, missing: 31, wrong: 31, 'not needed': 90 };

/** A diagnosis for people: a table, then what is wrong in the words of the backend's exceptions, and what to do. */
export function renderDiagnosis(diagnosis: Diagnosis, colours = false): string {
  const rows = diagnosis.checks.map((check) => [
    check.name,
    check.status,
    check.version ?? '',
    check.path ?? firstLine(check.problem),
  ]);
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row, i) => {
    const [name, status, version] = widths.map((width, column) => row[column]!.padEnd(width));
    const shown = colours ? `\u001b[${COLOURS[diagnosis.checks[i]!.status]}m${status}\u001b[0m` : status;
    return `${name}  ${shown}  ${version}  ${row[3]}`.trimEnd();
  });
  const parts = [lines.join('\n'), ...paragraphs(diagnosis)];
  parts.push(diagnosis.ok ? 'All is well.' : 'Not all is well: see above.');
  return `${parts.join('\n\n')}\n`;
}

/** Each problem once: the exceptions' texts first, then rows that no exception speaks of. */
function paragraphs({ checks, complaints }: Diagnosis): string[] {
  const ofRow = ({ name, problem, remedy }: Check) =>
    [`${name}: ${problem}`, remedy].filter(Boolean).join('\n');
  const spoken = complaints.map(({ problem, remedy }) => [problem, remedy].filter(Boolean).join('\n'));
  const others = checks.filter(
    (check) => !isWell(check) && !complaints.some(({ problem }) => problem.includes(check.problem ?? '')),
  );
  return [...new Set([...spoken, ...others.map(ofRow)])];
}

function firstLine(text = ''): string {
  return text.split('\n')[0]!;
}
