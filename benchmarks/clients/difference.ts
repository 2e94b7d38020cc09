import type { Findings } from './types';

/** How findings differ: numbers as a share of the larger one (of 1, if both are smaller), and where other things stand. */
export interface Difference {
  readonly largest: number;
  /** Paths of the first few places. */
  readonly others: readonly string[];
}

const FEW = 5;

export function differenceOf(ours: Findings, theirs: Findings): Difference {
  let largest = 0;
  const others: string[] = [];
  const walk = (a: Findings | undefined, b: Findings | undefined, path: string): void => {
    if (typeof a === 'number' && typeof b === 'number') {
      largest = Math.max(largest, Math.abs(a - b) / Math.max(1, Math.abs(a), Math.abs(b)));
    } else if (isTree(a) && isTree(b)) {
      const [one, other] = [a as Record<string, Findings>, b as Record<string, Findings>];
      for (const key of new Set([...Object.keys(one), ...Object.keys(other)]))
        walk(one[key], other[key], path === '' ? key : `${path}.${key}`);
    } else if (a !== b && others.length < FEW) {
      others.push(`${path}: ${JSON.stringify(a)} and ${JSON.stringify(b)}`);
    }
  };
  walk(ours, theirs, '');
  return { largest, others };
}

function isTree(value: Findings | undefined): boolean {
  return typeof value === 'object' && value !== null;
}
