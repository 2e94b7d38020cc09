import { SIDES } from '../sides';
import { median } from '../statistics';
import type { Stint } from '../take_turns';
import type { SideName } from '../types';
import type { Ready, TurnReport } from './child';
import { type Difference, differenceOf } from './difference';

export type Round = Record<SideName, Stint<Ready, TurnReport>>;

/** A side's times in ms. */
export interface Times {
  readonly open: number;
  readonly first: number;
  readonly median: number;
}

/** A client on both sides. */
export interface ClientResult {
  readonly name: string;
  readonly version: string;
  readonly about: string;
  readonly difference: Difference;
  readonly times: Record<SideName, Times>;
  /** tftrt's time over the peer's, of each round. */
  readonly ratios: readonly number[];
  readonly tensorsLeft: Record<SideName, number>;
}

/** Floats of long chains of ops, in another order of additions. */
const TOLERANCE = 1e-3;

/** Whether both sides found the same. */
export function agrees({ difference }: ClientResult): boolean {
  return difference.others.length === 0 && difference.largest <= TOLERANCE;
}

/** Puts rounds together; what was found is that of the first. */
export function resultOf(name: string, about: string, rounds: readonly Round[]): ClientResult {
  const { tftrt, peer } = rounds[0]!;
  const ofSides = <T>(value: (side: SideName) => T) =>
    Object.fromEntries(SIDES.map((side) => [side, value(side)])) as Record<SideName, T>;
  const timesIn = (round: Round, side: SideName) => round[side].turns.map(({ ms }) => ms);
  return {
    name,
    version: tftrt.ready.version,
    about,
    difference: differenceOf(tftrt.ready.findings, peer.ready.findings),
    times: ofSides((side) => ({
      open: median(rounds.map((round) => round[side].ready.openMs)),
      first: median(rounds.map((round) => round[side].ready.firstMs)),
      median: median(rounds.flatMap((round) => timesIn(round, side))),
    })),
    ratios: rounds.map((round) => median(timesIn(round, 'tftrt')) / median(timesIn(round, 'peer'))),
    tensorsLeft: ofSides((side) => Math.max(...rounds.map((round) => round[side].ready.tensorsLeft))),
  };
}
