import { MachineCpu } from './cpu_use';
import { type SideOptions, SideProcess } from './side_process';
import type { SideName } from './types';

/** What the process of one side did in one round. */
export interface Stint<R, T> {
  readonly ready: R;
  readonly turns: (T & { readonly coresOfOthers: number })[];
}

/** A round: starts a process for each side, one after the other, and lets them take turns, A B B A A B B A. */
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
    for (let turn = 0; turn < turns; turn++)
      for (const side of turn % 2 === 0 ? order : [...order].reverse()) {
        const cpu = new MachineCpu();
        const report = await processes.get(side)!.turn();
        stints.get(side)!.turns.push({ ...report, coresOfOthers: cpu.coresOfOthers(report.cpuMs) });
      }
  } finally {
    for (const started of processes.values()) await started.close();
  }
  return Object.fromEntries(stints) as Record<SideName, Stint<R, T>>;
}
