import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SideProcess } from '../side_process';
import { SIDES } from '../sides';
import { type Stint, takeTurns } from '../take_turns';
import type { SideName } from '../types';
import type { Ready, TurnReport } from './child';
import type { Photo } from './faces';
import { linkPeer, processOf } from './sides';

export type Round = Record<SideName, Stint<Ready, TurnReport>>;

/** Rounds of fresh processes that take turns, A B B A A B B A, every other round in reverse order. */
export function measure(home: string, rounds: number, progress: (text: string) => void): Promise<Round[]> {
  return withPeerLinked(async (folder) => {
    const done: Round[] = [];
    for (let i = 0; i < rounds; i++) {
      progress(`round ${i + 1} of ${rounds}`);
      const order = i % 2 === 0 ? SIDES : [...SIDES].reverse();
      done.push(await takeTurns<Ready, TurnReport>(order, (side) => processOf(side, home, folder)));
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
      const about =
        'What @vladmandic/face-api finds in its photos on the peer; made by benchmarks/face_api/main.ts --reference';
      return { about, device, versions, photos };
    } finally {
      await peer.close();
    }
  });
}

/** With a temporary folder in which the peer is found as @tensorflow/tfjs-node. */
export async function withPeerLinked<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'tftrt-face-api-'));
  try {
    linkPeer(folder);
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
