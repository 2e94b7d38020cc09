import { MachineCpu } from './cpu_use';
import { type SideOptions, SideProcess } from './side_process';
import type { SideName } from './types';

/** What the process of one side did in one round. */
export interface Stint<R, T> {
  readonly ready: R;
  readonly turns: (T & { readonly coresOfOthers: number })[];
}

/** The order of turns: A B B A A B B A. */
export function backAndForth<T>(order: readonly T[], turns: number): T[] {
  const backwards = [...order].reverse();
  return Array.from({ length: turns }, (_, turn) => (turn % 2 === 0 ? order : backwards)).flat();
}

/** A round: starts a process for each side, one after the other, and lets them take turns, back and forth. */
export async function takeTurns<R, T extends { readonly cpuMs: number }>(
  order: readonly SideName[],
  optionsOf: (side: SideName) => SideOptions,
  turns = 4,
): Promise<Record<SideName, Stint<R, T>>> {
  const processes = new Map<SideName, SideProcess<R, T>>();
  const stints = new Map<SideName, Stint<R, T>>();
  try {
    for (const side of order) {
      const started = new SideProcess<R, T>(optionsOf(side));
      processes.set(side, started);
      stints.set(side, { ready: await started.ready(), turns: [] });
    }
    for (const side of backAndForth(order, turns)) {
      const cpu = new MachineCpu();
      const report = await processes.get(side)!.turn();
      stints.get(side)!.turns.push({ ...report, coresOfOthers: cpu.coresOfOthers(report.cpuMs) });
    }
  } finally {
    for (const started of processes.values()) await started.close();
  }
  return Object.fromEntries(stints) as Record<SideName, Stint<R, T>>;
}
