import { join } from 'node:path';
import type { Ready, TurnReport } from './protocol';
import { median, medianFigures, relativeDifference, summarize } from './statistics';
import { type Stint, takeTurns } from './take_turns';
import type { Case, CaseResult, Models, SideName, SideResult } from './types';

/** The turns of each side in a round: they lie so close together that what slows the machine slows both sides. */
const TURNS_PER_ROUND = 4;
/** Processes that wait for less than this, as the only side does, tell nothing of how they wait. */
const WAIT_OF_NOTE_MS = 500;

type Round = Partial<Record<SideName, Stint<Ready, TurnReport>>>;

/** A case's result, and what a process of each side said of itself. */
export interface CaseRun {
  readonly result: CaseResult;
  readonly ready: Partial<Record<SideName, Ready>>;
}

/** Runs a case: rounds of fresh processes, every other round in reverse order. */
export async function runCase(
  benchmark: Case,
  models: Models,
  rounds: number,
  progress: (text: string) => void,
): Promise<CaseRun> {
  const count = benchmark.once ? 1 : rounds;
  const done: Round[] = [];
  for (let i = 0; i < count; i++) {
    progress(`${benchmark.name}: round ${i + 1} of ${count}`);
    done.push(await runRound(benchmark, models, i % 2 === 1));
  }
  const ready = Object.fromEntries(benchmark.sides.map((side) => [side, done[0]![side]?.ready]));
  return { result: resultOf(benchmark, done), ready };
}

/** Starts a process for each side, one after the other, and lets them take turns: A B B A A B B A. */
async function runRound(benchmark: Case, models: Models, reversed: boolean): Promise<Round> {
  const order = reversed ? [...benchmark.sides].reverse() : benchmark.sides;
  return takeTurns<Ready, TurnReport>(
    order,
    (side) => ({
      name: `${benchmark.name} on ${side}`,
      script: join(__dirname, 'child.js'),
      args: [side, benchmark.name, JSON.stringify(models)],
    }),
    benchmark.once ? 1 : TURNS_PER_ROUND,
  );
}

function resultOf(benchmark: Case, rounds: readonly Round[]): CaseResult {
  const { name, title, unit, better } = benchmark;
  const sides: Partial<Record<SideName, SideResult>> = Object.fromEntries(
    benchmark.sides.map((side) => [side, sideResultOf(rounds.map((round) => round[side]!))]),
  );
  const { tftrt, peer } = sides;
  return {
    name,
    title,
    unit,
    better,
    sides,
    ratios: tftrt && peer ? ratiosOf(tftrt.roundMedians, peer.roundMedians) : [],
    outputDifference: outputDifferenceOf(rounds),
  };
}

/** No ratio is made of a zero, such as no tick of a timer. */
function ratiosOf(tftrt: readonly number[], peer: readonly number[]): number[] {
  const ratios = tftrt.map((value, round) => value / peer[round]!);
  return ratios.every((ratio) => Number.isFinite(ratio) && ratio > 0) ? ratios : [];
}

/** The worst of all rounds; undefined when there is nothing to compare. */
function outputDifferenceOf(rounds: readonly Round[]): number | undefined {
  const differences = rounds.flatMap(({ tftrt, peer }) => {
    const [ours, theirs] = [tftrt?.ready.output, peer?.ready.output];
    return ours && theirs ? [relativeDifference(ours, theirs)] : [];
  });
  return differences.length > 0 ? Math.max(...differences) : undefined;
}

function sideResultOf(stints: readonly Stint<Ready, TurnReport>[]): SideResult {
  const turns = stints.flatMap((stint) => stint.turns);
  const waitMs = turns.reduce((sum, turn) => sum + turn.waitMs, 0);
  const waitCpuMs = turns.reduce((sum, turn) => sum + turn.waitCpuMs, 0);
  return {
    ...summarize(turns.flatMap(({ samples }) => samples)),
    roundMedians: stints.map((stint) => median(stint.turns.flatMap(({ samples }) => samples))),
    openMs: median(stints.map(({ ready }) => ready.openMs)),
    firstRunMs: median(stints.map(({ ready }) => ready.firstRunMs)),
    figures: medianFigures(turns.map(({ figures }) => figures)),
    coresWhileWaiting: waitMs >= WAIT_OF_NOTE_MS ? waitCpuMs / waitMs : 0,
    coresOfOthers: median(turns.map(({ coresOfOthers }) => coresOfOthers)),
  };
}
