import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MachineCpu } from '../cpu_use';
import { SideProcess } from '../side_process';
import { SIDES } from '../sides';
import type { SideName } from '../types';
import type { Ready, TurnReport } from './child';
import type { Photo } from './faces';
import { linkPeer, processOf } from './sides';

/** What the process of one side did in one round. */
export interface Stint {
  readonly ready: Ready;
  readonly turns: (TurnReport & { readonly coresOfOthers: number })[];
}

export type Round = Record<SideName, Stint>;

const TURNS_PER_ROUND = 4;

/** Rounds of fresh processes that take turns, A B B A A B B A, every other round in reverse order. */
export function measure(home: string, rounds: number, progress: (text: string) => void): Promise<Round[]> {
  return withPeerLinked(async (folder) => {
    const done: Round[] = [];
    for (let i = 0; i < rounds; i++) {
      progress(`round ${i + 1} of ${rounds}`);
      done.push(await runRound(home, folder, i % 2 === 0 ? SIDES : [...SIDES].reverse()));
    }
    return done;
  });
}

/** What the peer finds in the photos, and what it is. */
export interface Reference {
  readonly about: string;
  readonly device: string;
  readonly versions: Record<string, string>;
  readonly photos: readonly Photo[];
}

/** Asks the peer once. */
export function peersAnswer(home: string): Promise<Reference> {
  return withPeerLinked(async (folder) => {
    const peer = new SideProcess<Ready, TurnReport>(processOf('peer', home, folder));
    try {
      const { device, versions, photos } = await peer.ready();
      const about = `What @vladmandic/face-api finds in its photos on the peer; made by benchmarks/face_api/main.ts --reference`;
      return { about, device, versions, photos };
    } finally {
      await peer.close();
    }
  });
}

async function withPeerLinked<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'tftrt-face-api-'));
  try {
    linkPeer(folder);
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runRound(home: string, folder: string, order: readonly SideName[]): Promise<Round> {
  const processes = new Map<SideName, SideProcess<Ready, TurnReport>>();
  const stints = new Map<SideName, Stint>();
  try {
    for (const side of order) {
      const started = new SideProcess<Ready, TurnReport>(processOf(side, home, folder));
      processes.set(side, started);
      stints.set(side, { ready: await started.ready(), turns: [] });
    }
    for (let turn = 0; turn < TURNS_PER_ROUND; turn++)
      for (const side of turn % 2 === 0 ? order : [...order].reverse()) {
        const cpu = new MachineCpu();
        const report = await processes.get(side)!.turn();
        stints.get(side)!.turns.push({ ...report, coresOfOthers: cpu.coresOfOthers(report.cpuMs) });
      }
  } finally {
    for (const started of processes.values()) await started.close();
  }
  return Object.fromEntries(stints) as Round;
}
