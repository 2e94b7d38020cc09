import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine } from '../machine';
import { median, medianFigures, summarize } from '../statistics';
import type { Summary } from '../types';
import { CONTESTANTS } from './contestants';
import { ENGINE_TOLERANCE } from './engine';
import { place, type Round, readRounds, type Stint } from './measure';
import { SCENARIOS } from './scenarios';
import type { Start } from './starts';
import type { ModelFacts } from './subject';
import { judge, type Verdict } from './targets';

/** A contestant in a scenario. */
export interface Row extends Summary {
  readonly contestant: string;
  readonly roundMedians: readonly number[];
  readonly figures: Record<string, number>;
}

/** A scenario with everyone who ran it. */
export interface ScenarioResult {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly rows: readonly Row[];
}

/** All that a run of the benchmark found. */
export interface Results {
  readonly date: string;
  readonly gpu?: string;
  readonly device: string;
  readonly machine: Machine;
  readonly model: string;
  readonly largeBatch: number;
  readonly rounds: number;
  readonly scenarios: readonly ScenarioResult[];
  /** What engines may differ from TensorFlow by, of its largest value, to serve here. */
  readonly engineTolerance: number;
  /** Models as the measuring processes had them (the first round's), by contestant. An engine's build time is that of the build that the cache has it from. */
  readonly models: Record<string, readonly ModelFacts[]>;
  readonly starts: readonly Start[];
  readonly errors: readonly string[];
  readonly verdicts: readonly Verdict[];
}

/** Puts together what the commands left in the results folder. */
export function collect(out: string): Results {
  const rounds = readRounds(out);
  const first = rounds[0]?.stints ?? {};
  const anyone = Object.values(first).find(({ opened }) => opened !== undefined)?.opened;
  const startsFile = join(out, 'starts.json');
  const versionsOf = (names: string[]) =>
    names.map((name) => first[name]?.opened?.versions).find((versions) => versions !== undefined);
  const ours = CONTESTANTS.filter(({ side }) => side === 'tftrt').map(({ name }) => name);
  const { date, gpu, machine } = rounds[0] ?? place();
  const results = {
    date,
    ...(gpu === undefined ? {} : { gpu }),
    device: anyone?.device ?? 'unknown',
    machine: { ...machine, versions: { tftrt: versionsOf(ours), peer: versionsOf(['peer']) } },
    model: 'ResNet-50 v1.5, 224 x 224, batch normalisation folded',
    largeBatch: rounds[0]?.largeBatch ?? 0,
    rounds: rounds.length,
    scenarios: SCENARIOS.map(({ name, title, unit }) => ({
      name,
      title,
      unit,
      rows: CONTESTANTS.flatMap((who) => rowOf(who.name, name, rounds)),
    })),
    engineTolerance: ENGINE_TOLERANCE,
    models: Object.fromEntries(
      Object.entries(first).map(([name, { prepared }]) => [name, prepared?.models ?? []]),
    ),
    starts: existsSync(startsFile) ? (JSON.parse(readFileSync(startsFile, 'utf8')) as Start[]) : [],
    errors: rounds.flatMap((round, i) =>
      Object.entries(round.stints).flatMap(([name, { errors }]) =>
        errors.map((error) => `round ${i + 1}, ${name}: ${error.split('\n', 1)[0]}`),
      ),
    ),
  };
  return { ...results, verdicts: judge(results) };
}

function rowOf(contestant: string, scenario: string, rounds: readonly Round[]): Row[] {
  const turnsOf = (stint: Stint | undefined) => stint?.turns[scenario] ?? [];
  const perRound = rounds
    .map(({ stints }) => turnsOf(stints[contestant]))
    .filter((turns) => turns.length > 0);
  if (perRound.length === 0) return [];
  const samples = perRound.map((turns) => turns.flatMap((turn) => turn.samples));
  return [
    {
      contestant,
      ...summarize(samples.flat()),
      roundMedians: samples.map(median),
      figures: medianFigures(perRound.flat().map(({ figures }) => figures)),
    },
  ];
}
