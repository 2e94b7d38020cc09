import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TftrtError } from '#src/errors';
import { currentLoad, describeMachine, gpuAndDriver, type Machine } from '../machine';
import { SideProcess } from '../side_process';
import { median } from '../statistics';
import { backAndForth } from '../take_turns';
import type { Contestant } from './contestants';
import type { Answer, ChildOptions, Opened, PreparedFacts, TurnAnswer } from './protocol';
import { SCENARIOS, type Scenario, takesPart } from './scenarios';
import type { Settings } from './subject';

/** What the commands have in common. */
export interface RunOptions extends Omit<Settings, 'contestant'> {
  readonly contestants: readonly Contestant[];
  readonly scenarios: readonly Scenario[];
  /** The folder for results. */
  readonly out: string;
}

/** What one contestant's process did in one round. */
export interface Stint {
  readonly opened?: Opened;
  readonly prepared?: PreparedFacts;
  /** Samples and figures of each turn, by scenario. */
  readonly turns: Record<string, { samples: number[]; figures?: Record<string, number> }[]>;
  readonly errors: string[];
}

/** Where and when a round ran; the report may be made elsewhere. */
export interface Place {
  readonly date: string;
  readonly gpu?: string;
  readonly machine: Machine;
}

/** One round: fresh processes for everyone. */
export interface Round extends Place {
  readonly largeBatch: number;
  readonly stints: Record<string, Stint>;
}

type Process = SideProcess<Opened, Answer>;

/** In a round, where the scenario says nothing else. */
const TURNS_EACH = 2;

/** Runs the rounds, as far as their files do not have them: a contestant that was not ready then gets another try. */
export async function measure(options: RunOptions, rounds: number): Promise<void> {
  mkdirSync(options.out, { recursive: true });
  for (let round = 1; round <= rounds; round++) {
    const file = join(options.out, `round-${round}.json`);
    const before: Record<string, Stint> = existsSync(file) ? readRound(file).stints : {};
    const contestants = options.contestants.filter(({ name }) => before[name]?.prepared === undefined);
    if (contestants.length === 0) {
      console.log(`round ${round} of ${rounds}: there already`);
      continue;
    }
    const start = performance.now();
    console.log(`round ${round} of ${rounds}`);
    const where = place();
    const stints = await runRound({ ...options, contestants }, round % 2 === 0);
    const { largeBatch } = options;
    const result: Round = { ...where, largeBatch, stints: { ...before, ...stints } };
    writeFileSync(file, `${JSON.stringify(result)}\n`);
    console.log(`round ${round} of ${rounds}: ${seconds(start)}`);
  }
}

/** This machine, now. */
export function place(): Place {
  const gpu = gpuAndDriver();
  return {
    date: new Date().toISOString().slice(0, 10),
    ...(gpu === undefined ? {} : { gpu }),
    machine: describeMachine({}, currentLoad()),
  };
}

/** The rounds that are in the folder. */
export function readRounds(out: string): Round[] {
  const rounds: Round[] = [];
  for (let i = 1; existsSync(join(out, `round-${i}.json`)); i++)
    rounds.push(readRound(join(out, `round-${i}.json`)));
  return rounds;
}

function readRound(file: string): Round {
  return JSON.parse(readFileSync(file, 'utf8')) as Round;
}

/** Starts the process of a contestant. */
export function startContestant(
  who: Contestant,
  { models, largeBatch, configuration, tableFile }: RunOptions,
  scenarios: readonly Scenario[],
): Process {
  const options: ChildOptions = {
    contestant: who.name,
    models,
    largeBatch,
    configuration,
    tableFile,
    scenarios: scenarios.filter((scenario) => takesPart(who, scenario)).map(({ name }) => name),
  };
  return new SideProcess({
    name: `ResNet-50 on ${who.name}`,
    script: join(__dirname, 'child.js'),
    args: [JSON.stringify(options)],
    env: who.env,
  });
}

/**
 * All processes load at once; then each in turn uses the device alone to prepare. In each scenario everyone gets some turns,
 * every other time in reverse order.
 */
async function runRound(options: RunOptions, reversed: boolean): Promise<Round['stints']> {
  const order = reversed ? [...options.contestants].reverse() : options.contestants;
  const stints: Record<string, Stint> = {};
  const processes = new Map<Contestant, Process>();
  try {
    for (const who of order) processes.set(who, startContestant(who, options, options.scenarios));
    const opened = await Promise.allSettled(order.map((who) => processes.get(who)!.ready()));
    for (const [i, who] of order.entries())
      stints[who.name] = await prepare(who, processes.get(who)!, opened[i]!);
    for (const scenario of options.scenarios) await runScenario(scenario, order, processes, stints);
  } finally {
    for (const process of processes.values()) await process.close();
  }
  return stints;
}

async function prepare(
  who: Contestant,
  process: Process,
  opened: PromiseSettledResult<Opened>,
): Promise<Stint> {
  const start = performance.now();
  try {
    if (opened.status === 'rejected') throw opened.reason;
    const prepared = (await process.turn('prepare')) as PreparedFacts;
    const errors = Object.entries(prepared.failures).map(([name, why]) => `${name}: ${why}`);
    console.log(`  ${who.name} is ready after ${seconds(start)}${describe(prepared)}`);
    for (const error of errors) console.log(`  ! ${who.name}, ${error}`);
    return { opened: opened.value, prepared, turns: {}, errors };
  } catch (error) {
    console.log(`  ! ${who.name}: ${messageOf(error)}`);
    return { turns: {}, errors: [messageOf(error)] };
  }
}

/** What must not be overlooked while the benchmark runs: engines that were built anew or do not serve. */
function describe({ models }: PreparedFacts): string {
  const notes = models.flatMap(({ name, engine }) =>
    engine === undefined
      ? []
      : [
          `${name}: ${engine.serving}${engine.serving === 'tensorrt' ? '' : ` (${engine.reason})`}` +
            `${engine.engines.every(({ fromCache }) => fromCache) ? '' : ', BUILT ANEW'}` +
            ` in ${(engine.buildCallMs / 1000).toFixed(1)} s`,
        ],
  );
  return notes.length > 0 ? `; ${notes.join('; ')}` : '';
}

async function runScenario(
  scenario: Scenario,
  order: readonly Contestant[],
  processes: ReadonlyMap<Contestant, Process>,
  stints: Record<string, Stint>,
): Promise<void> {
  const able = order.filter((who) => {
    const { prepared } = stints[who.name]!;
    return takesPart(who, scenario) && prepared !== undefined && !(scenario.name in prepared.failures);
  });
  for (const who of backAndForth(able, scenario.turns ?? TURNS_EACH)) {
    const { turns, errors } = stints[who.name]!;
    try {
      const answer = (await processes.get(who)!.turn(`turn ${scenario.name}`)) as TurnAnswer;
      if ('error' in answer) throw new TftrtError('TFTRT_BENCH_TURN_FAILED', answer.error);
      turns[scenario.name] ??= [];
      turns[scenario.name]!.push(answer);
    } catch (error) {
      errors.push(`${scenario.name}: ${messageOf(error)}`);
      console.log(`  ! ${who.name}, ${scenario.name}: ${messageOf(error)}`);
    }
  }
  const medians = able.flatMap((who) => {
    const samples = (stints[who.name]!.turns[scenario.name] ?? []).flatMap((turn) => turn.samples);
    return samples.length > 0 ? [`${who.name} ${Number(median(samples).toPrecision(3))}`] : [];
  });
  if (medians.length > 0) console.log(`  ${scenario.name} (${scenario.unit}): ${medians.join(', ')}`);
}

/** The scenario that `start` runs: a fresh process as far as its first output. */
export const START_SCENARIO = SCENARIOS.find(({ name }) => name === 'single-graph')!;

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
