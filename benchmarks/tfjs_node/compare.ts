import { isDeepStrictEqual } from 'node:util';
import type { SideName } from '../types';
import { cases, idOf } from './cases';
import { reasonFor } from './known';
import type { Outcome } from './types';

/**
 * `same`: equal values, or the same error. `both refuse`: both throw, in other words. `deliberate`: they differ, and `known.ts`
 * says why that is so. `differs`: they should not.
 */
export type Verdict = 'same' | 'both refuse' | 'deliberate' | 'differs';

export interface Comparison {
  readonly member: string;
  readonly name: string;
  readonly verdict: Verdict;
  readonly reason?: string;
  readonly outcomes: Record<SideName, Outcome>;
}

export function compare(number: number, tftrt: Outcome, peer: Outcome): Comparison {
  const one = cases[number]!;
  const { member, name } = one;
  const outcomes = { tftrt, peer };
  const plain = plainVerdict(tftrt, peer);
  if (plain !== undefined) return { member, name, verdict: plain, outcomes };
  const reason = reasonFor(idOf(one), tftrt, peer);
  return { member, name, verdict: reason ? 'deliberate' : 'differs', ...(reason && { reason }), outcomes };
}

function plainVerdict(tftrt: Outcome, peer: Outcome): Verdict | undefined {
  if ('error' in tftrt && 'error' in peer) {
    if (tftrt.how !== peer.how) return undefined;
    return tftrt.error === peer.error ? 'same' : 'both refuse';
  }
  return isDeepStrictEqual(tftrt, peer) ? 'same' : undefined;
}
