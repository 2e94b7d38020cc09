import type { Machine } from '../machine';
import { SIDES } from '../sides';
import { median } from '../statistics';
import type { SideName } from '../types';
import { type Agreement, compare, type Photo } from './faces';
import type { Round } from './measure';

/** A side's times for one photo, in ms. */
export interface Times {
  /** The median over the rounds of the first look, and that of all later ones. */
  readonly first: number;
  readonly median: number;
  readonly min: number;
  readonly roundMedians: readonly number[];
}

/** A photo on both sides. */
export interface PhotoResult {
  readonly name: string;
  readonly photos: Record<SideName, Photo>;
  readonly agreement: Agreement;
  readonly times: Record<SideName, Times>;
  /** tftrt's time over the peer's, of each round. */
  readonly ratios: readonly number[];
}

/** All that a run found. */
export interface Results {
  readonly date: string;
  readonly gpu?: string;
  readonly device: string;
  readonly machine: Machine;
  readonly rounds: number;
  readonly starts: Record<SideName, { readonly openMs: number; readonly netsMs: number }>;
  /** For all photos together. */
  readonly ratios: readonly number[];
  readonly photos: readonly PhotoResult[];
  /** CPU use of everything else during a side's turns, in cores. */
  readonly coresOfOthers: Record<SideName, number>;
  readonly tensorsLeft: Record<SideName, number>;
}

/** What the issue asks of descriptors: the largest distance to the peer's. */
export const DESCRIPTOR_TOLERANCE = 1e-3;

/** Puts the rounds together; the faces are those of the first. */
export function resultsOf(
  rounds: readonly Round[],
  facts: Pick<Results, 'date' | 'gpu' | 'machine'>,
): Results {
  const first = rounds[0]!;
  const ofSides = <T>(value: (side: SideName) => T) =>
    Object.fromEntries(SIDES.map((side) => [side, value(side)])) as Record<SideName, T>;
  const photos = first.tftrt.ready.photos.map(({ name }, i): PhotoResult => {
    const found = ofSides((side) => first[side].ready.photos[i]!);
    const times = ofSides((side) => timesOf(rounds, side, i));
    return {
      name,
      photos: found,
      agreement: compare(found.tftrt.faces, found.peer.faces),
      times,
      ratios: ratios(times.tftrt.roundMedians, times.peer.roundMedians),
    };
  });
  const totals = ofSides((side) =>
    rounds.map((_, round) => photos.reduce((sum, { times }) => sum + times[side].roundMedians[round]!, 0)),
  );
  return {
    ...facts,
    device: first.tftrt.ready.device,
    rounds: rounds.length,
    starts: ofSides((side) => ({
      openMs: median(rounds.map((round) => round[side].ready.openMs)),
      netsMs: median(rounds.map((round) => round[side].ready.netsMs)),
    })),
    ratios: ratios(totals.tftrt, totals.peer),
    photos,
    coresOfOthers: ofSides((side) =>
      median(rounds.flatMap((round) => round[side].turns.map(({ coresOfOthers }) => coresOfOthers))),
    ),
    tensorsLeft: ofSides((side) => Math.max(...rounds.map((round) => round[side].ready.tensorsLeft))),
  };
}

/** Whether both sides found the same: what must be so whatever the times are. */
export function agrees({ photos }: Results): boolean {
  return photos.every(
    ({ agreement }) =>
      agreement.sameFaces && agreement.sameGender && agreement.descriptor <= DESCRIPTOR_TOLERANCE,
  );
}

function timesOf(rounds: readonly Round[], side: SideName, photo: number): Times {
  const samples = rounds.map((round) => round[side].turns.map(({ ms }) => ms[photo]!));
  return {
    first: median(rounds.map((round) => round[side].ready.firstMs[photo]!)),
    median: median(samples.flat()),
    min: Math.min(...samples.flat()),
    roundMedians: samples.map(median),
  };
}

function ratios(ours: readonly number[], theirs: readonly number[]): number[] {
  return ours.map((value, i) => value / theirs[i]!);
}
