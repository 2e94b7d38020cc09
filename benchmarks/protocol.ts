import type { Turn } from './types';

/** The first line of a child: it is warm and waits for its turn. */
export interface Ready {
  /** Loading the library and choosing the backend. */
  readonly openMs: number;
  /** Preparing the case, its model included, and running it once. */
  readonly firstRunMs: number;
  readonly versions: Record<string, string>;
  readonly device: 'cpu' | 'gpu';
  readonly output?: number[];
}

/** A turn as the child reports it. */
export interface TurnReport extends Turn {
  /** CPU time of the whole process during the turn. */
  readonly cpuMs: number;
  /** How long the child waited for this turn, and the CPU time that it used in that time. */
  readonly waitMs: number;
  readonly waitCpuMs: number;
}
