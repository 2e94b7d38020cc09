import { SIDES } from '../sides';
import { median } from '../statistics';
import type { Stint } from '../take_turns';
import type { SideName } from '../types';
import type { Ready, TurnReport } from './child';
import { type Difference, differenceOf } from './difference';
import type { Client } from './types';

/** Without the peer where it cannot do the work. */
export type Round = { readonly tftrt: Stint<Ready, TurnReport>; readonly peer?: Stint<Ready, TurnReport> };

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
  /** Undefined where the peer cannot do the work; `peerLacks` says why. */
  readonly difference?: Difference;
  readonly peerLacks?: string;
  readonly times: Partial<Record<SideName, Times>>;
  /** tftrt's time over the peer's, of each round. */
  readonly ratios: readonly number[];
  readonly tensorsLeft: Partial<Record<SideName, number>>;
}

/** Floats of long chains of ops, in another order of additions. */
const TOLERANCE = 1e-3;

/** Whether both sides found the same. */
export function agrees({ difference }: ClientResult): boolean {
  return difference === undefined || (difference.others.length === 0 && difference.largest <= TOLERANCE);
}

/** Puts rounds together; what was found is that of the first. */
export function resultOf({ name, about, peerLacks }: Client, rounds: readonly Round[]): ClientResult {
  const { tftrt, peer } = rounds[0]!;
  const ofSides = <T>(value: (stints: readonly Stint<Ready, TurnReport>[]) => T) =>
    Object.fromEntries(
      SIDES.flatMap((side) => {
        const stints = rounds.flatMap((round) => round[side] ?? []);
        return stints.length === 0 ? [] : [[side, value(stints)]];
      }),
    ) as Partial<Record<SideName, T>>;
  const timesIn = ({ turns }: Stint<Ready, TurnReport>) => turns.map(({ ms }) => ms);
  return {
    name,
    version: tftrt.ready.version,
    about,
    ...(peer
      ? { difference: differenceOf(tftrt.ready.findings, peer.ready.findings) }
      : { peerLacks: peerLacks! }),
    times: ofSides((stints) => ({
      open: median(stints.map(({ ready }) => ready.openMs)),
      first: median(stints.map(({ ready }) => ready.firstMs)),
      median: median(stints.flatMap(timesIn)),
    })),
    ratios: rounds.flatMap((round) =>
      round.peer ? [median(timesIn(round.tftrt)) / median(timesIn(round.peer))] : [],
    ),
    tensorsLeft: ofSides((stints) => Math.max(...stints.map(({ ready }) => ready.tensorsLeft))),
  };
}
