import { readFileSync } from 'node:fs';

/** A jiffy of /proc/stat in milliseconds (USER_HZ is 100 on Linux). */
const JIFFY_MS = 10;

/** A stopwatch for the CPU time of the whole machine, stolen time included. */
export class MachineCpu {
  #at = performance.now();
  #busy = busyMs();
  #own = process.cpuUsage();

  /** The mean number of cores in use since the start, apart from this process and from `exceptMs` of CPU time. */
  coresOfOthers(exceptMs: number): number {
    const own = process.cpuUsage(this.#own);
    const others = busyMs() - this.#busy - exceptMs - (own.user + own.system) / 1000;
    return Math.max(0, others / (performance.now() - this.#at));
  }
}

function busyMs(): number {
  const [user, nice, system, , , irq, softirq, steal] = readFileSync('/proc/stat', 'utf8')
    .split('\n', 1)[0]!
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user! + nice! + system! + irq! + softirq! + steal!) * JIFFY_MS;
}
