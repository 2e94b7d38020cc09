import { execFileSync } from 'node:child_process';
import { cpus, loadavg, totalmem } from 'node:os';
import type { SideName } from './types';

/** What a reader must know of the machine; nothing that names it. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly node: string;
  readonly loadAtStart: number;
  readonly commit?: string;
  readonly versions: Partial<Record<SideName, Record<string, string>>>;
}

/** Describes the machine and both sides. */
export function describeMachine(versions: Machine['versions'], loadAtStart: number): Machine {
  const processors = cpus();
  const commit = commitOfSource();
  return {
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.versions.node,
    loadAtStart,
    ...(commit === undefined ? {} : { commit }),
    versions,
  };
}

/** The mean number of runnable processes in the last minute. */
export function currentLoad(): number {
  return Math.round(loadavg()[0]! * 100) / 100;
}

/** The commit that runs; TFTRT_COMMIT says it where there is no repository. Undefined where nothing does. */
export function commitOfSource(): string | undefined {
  if (process.env.TFTRT_COMMIT) return process.env.TFTRT_COMMIT;
  try {
    return execFileSync('git', ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'], {
      cwd: __dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}

/** The GPU's model and its driver; undefined where there is none. */
export function gpuAndDriver(): string | undefined {
  try {
    const args = ['--query-gpu=name,driver_version', '--format=csv,noheader'];
    return execFileSync('nvidia-smi', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      .split('\n')[0]!
      .trim();
  } catch {
    return undefined;
  }
}
