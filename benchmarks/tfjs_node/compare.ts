import type { SideName } from '../types';
import { cases, idOf } from './cases';
import { reasonFor } from './known';
import type { Json, Outcome } from './types';

/**
 * `same`: equal values, or the same error, as which one of TensorFlow's counts however it is introduced. `both refuse`: both throw,
 * in other words. `deliberate`: they differ, and `known.ts`
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

const ROUNDING = 2e-5;

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
    return tftrt.error === peer.error || ofTensorFlow(tftrt.error) === ofTensorFlow(peer.error)
      ? 'same'
      : 'both refuse';
  }
  return 'value' in tftrt && 'value' in peer && alike(tftrt.value, peer.value) ? 'same' : undefined;
}

/** Whether values are equal; numbers with a fraction, up to the last digits that `canonical` leaves. */
function alike(a: Json, b: Json): boolean {
  if (typeof a === 'number' && typeof b === 'number')
    return a === b || (!Number.isInteger(a) && Math.abs(a - b) <= ROUNDING * Math.max(1, Math.abs(a)));
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return a === b;
  const [one, other] = [Object.entries(a), b as Record<string, Json>];
  return (
    Array.isArray(a) === Array.isArray(b) &&
    one.length === Object.keys(b).length &&
    one.every(([key, value]) => key in other && alike(value, other[key]!))
  );
}

/** TensorFlow's message alone: this package puts the op before it, tfjs-node its status. */
function ofTensorFlow(error: string): string {
  return error.replace(/^(Invalid TF_Status: \d+\nMessage|\w+): /, '').trim();
}
