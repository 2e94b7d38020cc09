import type { Outcome } from './types';

/** Differences that are meant, by cases and what the sides did. */
interface Known {
  readonly cases: RegExp;
  readonly why: string;
  /** Holds besides: what the sides did. */
  readonly when?: (tftrt: Outcome, peer: Outcome) => boolean;
}

const known: readonly Known[] = [];

/** Why a case may differ; undefined if it may not. */
export function reasonFor(id: string, tftrt: Outcome, peer: Outcome): string | undefined {
  return known.find(({ cases, when }) => cases.test(id) && (when?.(tftrt, peer) ?? true))?.why;
}
