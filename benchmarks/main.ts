/** `npm run bench`: every case on both sides, as a table and as JSON. See README.md in this folder. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { TftrtError } from '#src/errors';
import { packageRoot } from '#src/setup/paths';
import { cases } from './cases';
import { currentLoad, describeMachine, type Machine } from './machine';
import { ensureBenchModels } from './models';
import { ensurePeer } from './peer';
import { progress } from './progress';
import { notesOf, tableOf, verdictLines } from './report';
import { runCase } from './run_case';
import { significantDigits } from './significant_digits';
import { judge, type Verdict } from './targets';
import type { Case, CaseResult } from './types';

const DEFAULT_ROUNDS = 7;
const MINIMUM_ROUNDS = 5;

interface Options {
  readonly chosen: readonly Case[];
  readonly rounds: number;
  readonly check: boolean;
  readonly out?: string;
}

/** More than any of these figures is worth. */
const rounded = significantDigits(5);

async function main(): Promise<void> {
  const { chosen, rounds, check, out } = options();
  const models = await ensureBenchModels();
  if (chosen.some(({ sides }) => sides.includes('peer'))) await ensurePeer();

  const load = currentLoad();
  const results: CaseResult[] = [];
  const verdicts: Verdict[] = [];
  const versions: Machine['versions'] = {};
  let device = 'cpu';
  for (const benchmark of chosen) {
    try {
      const { result, ready } = await runCase(benchmark, models, rounds, progress);
      results.push(result);
      verdicts.push(...judge(benchmark.targets ?? [], result));
      if (ready.tftrt) device = ready.tftrt.device;
      for (const side of benchmark.sides) versions[side] = ready[side]?.versions;
    } catch (error) {
      // The other cases are still worth their while; the exit code tells of this one.
      complain(error);
    }
    progress('');
  }
  if (results.length === 0) return;

  console.log(`\n${tableOf(results)}\n\n${notesOf(results)}`);
  if (check) console.log(`\n${verdictLines(verdicts)}`);

  const date = new Date().toISOString().slice(0, 10);
  const file = out ?? (results.length === cases.length ? defaultFile(date, device) : undefined);
  if (file !== undefined) {
    mkdirSync(dirname(file), { recursive: true });
    const report = { date, device, machine: describeMachine(versions, load), results, verdicts };
    writeFileSync(file, `${JSON.stringify(report, rounded, 2)}\n`);
    console.log(`\nWritten: ${file}`);
  }
  if (check && verdicts.some(({ pass }) => !pass)) process.exitCode = 1;
}

function options(): Options {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { rounds: { type: 'string' }, check: { type: 'boolean' }, out: { type: 'string' } },
  });
  for (const name of positionals)
    if (!cases.some((benchmark) => benchmark.name === name))
      throw new TftrtError(
        'TFTRT_BENCH_UNKNOWN_CASE',
        `There is no benchmark '${name}'. Choose from: ${cases.map((benchmark) => benchmark.name).join(', ')}.`,
      );
  const rounds = Number(values.rounds ?? DEFAULT_ROUNDS);
  if (!Number.isInteger(rounds) || rounds < MINIMUM_ROUNDS)
    throw new TftrtError(
      'TFTRT_BENCH_ROUNDS',
      `--rounds is '${values.rounds}'; expected an integer of at least ${MINIMUM_ROUNDS}: fewer ratios say little.`,
    );
  return {
    chosen: positionals.length === 0 ? cases : cases.filter(({ name }) => positionals.includes(name)),
    rounds,
    check: values.check ?? false,
    out: values.out === undefined ? undefined : resolve(values.out),
  };
}

/** Only a run of all cases is a result to keep by default. */
function defaultFile(date: string, device: string): string {
  return join(packageRoot, 'benchmarks', 'results', `${date}-${device}.json`);
}

function complain(error: unknown): void {
  console.error(error instanceof TftrtError ? `\n${error.code}: ${error.message}` : error);
  process.exitCode = 1;
}

main().catch(complain);
