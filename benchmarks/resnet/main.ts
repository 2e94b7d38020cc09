/** `npm run bench:resnet -- <command>`: ResNet-50 in every precision beside the peer. See README.md in this folder. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { TftrtError } from '#src/errors';
import { packageRoot } from '#src/setup/paths';
import { wholeNumber } from '../arguments';
import { ensureResnet } from '../models';
import { ensurePeer } from '../peer';
import { significantDigits } from '../significant_digits';
import { CONTESTANTS, contestant } from './contestants';
import { measure, type RunOptions } from './measure';
import { pack } from './pack';
import { plot } from './plot';
import { collect } from './results';
import { SCENARIOS } from './scenarios';
import { measureStarts } from './starts';
import { tableOf } from './table';

const USAGE = `Usage: main.js <command> --out FOLDER [options]
  build      builds the TensorRT engines (or finds them in the cache)
  start      starts processes one by one and times them as far as their first output
  measure    all scenarios in turns; continues a run that was interrupted
  report     prints the table, writes the results (--json FILE) and their plot beside them; exit code 1 if a target is missed
  pack       archives for a machine that has nothing but Node and TensorFlow, in FOLDER (--only code, --only models)
Options
  --only NAMES        these contestants, separated by commas: ${CONTESTANTS.map(({ name }) => name).join(', ')}
  --scenarios NAMES   these scenarios: ${SCENARIOS.map(({ name }) => name).join(', ')}
  --models FOLDER     the ResNet-50, made before: then nothing is made, installed or compiled
  --rounds N          rounds of measure, or starts of each contestant (2)
  --batch N           the large batch (128)
  --configure JSON    options for tftrt.configure in all processes`;

type Command = 'build' | 'start' | 'measure' | 'report' | 'pack';
const COMMANDS: readonly Command[] = ['build', 'start', 'measure', 'report', 'pack'];

/** More than any of these figures is worth. */
const rounded = significantDigits(4);

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: Object.fromEntries(
      ['out', 'only', 'scenarios', 'models', 'rounds', 'batch', 'configure', 'json'].map((name) => [
        name,
        { type: 'string' as const },
      ]),
    ),
  }) as { values: Record<string, string | undefined>; positionals: string[] };
  const command = positionals[0] as Command;
  if (positionals.length !== 1 || !COMMANDS.includes(command) || !values.out)
    throw new TftrtError('TFTRT_BENCH_USAGE', USAGE);
  const out = resolve(values.out);
  if (command === 'report') return report(out, values.json);
  if (command === 'pack') {
    await ensurePeer();
    return pack(out, await ensureResnet(), values.only?.split(','));
  }

  const contestants = values.only?.split(',').map(contestant) ?? CONTESTANTS;
  const options: RunOptions = {
    contestants,
    scenarios: SCENARIOS.filter(({ name }) => values.scenarios?.split(',').includes(name) ?? true),
    models: await modelsFolder(values.models, command),
    largeBatch: wholeNumber('batch', values.batch, 128),
    configuration: JSON.parse(values.configure ?? '{}') as object,
    tableFile: join(out, 'calibration-table.txt'),
    out,
  };
  switch (command) {
    case 'build':
      for (const who of contestants) if (who.engine !== undefined) await buildOne(who.name, options);
      return;
    case 'start':
      return measureStarts(
        { ...options, contestants: contestants.filter(({ withoutModels }) => !withoutModels) },
        wholeNumber('rounds', values.rounds, 2),
      );
    case 'measure':
      await measure(options, wholeNumber('rounds', values.rounds, 2));
      console.log(`\n${tableOf(collect(out))}`);
  }
}

/** One process builds engines for one contestant only: settings are those of a process. */
async function buildOne(name: string, options: RunOptions): Promise<void> {
  if (options.contestants.length !== 1)
    throw new TftrtError('TFTRT_BENCH_USAGE', `build takes one contestant at a time: --only ${name}.`);
  const { build } = await import('./build.js');
  await build(contestant(name), options);
}

async function modelsFolder(given: string | undefined, command: Command): Promise<string> {
  if (given !== undefined) return resolve(given);
  if (command !== 'build') await ensurePeer();
  return ensureResnet();
}

function report(out: string, json?: string): void {
  const results = collect(out);
  console.log(tableOf(results));
  const file = resolve(
    json ?? join(packageRoot, 'benchmarks', 'results', `${results.date}-${results.device}-resnet50.json`),
  );
  const picture = join(dirname(file), `${basename(file, '.json')}.svg`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(results, rounded, 2)}\n`);
  writeFileSync(picture, plot(results));
  console.log(`\nWritten: ${file}\n         ${picture}`);
  if (results.verdicts.some(({ pass }) => !pass)) process.exitCode = 1;
}

main().catch((error: unknown) => {
  console.error(error instanceof TftrtError ? `${error.code}: ${error.message}` : error);
  process.exitCode = 1;
});
