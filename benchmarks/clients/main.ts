/** Programs for tfjs-node on both sides: `node dist-dev/benchmarks/clients/main.js`. See README.md in this folder. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { TftrtError } from '#src/errors';
import { packageRoot } from '#src/setup/paths';
import { ensureFaceApi, ensureHumanModels } from '../../demo/fetch_models';
import { withPeerLinked } from '../face_api/measure';
import { currentLoad, describeMachine, gpuAndDriver } from '../machine';
import { ensurePeer } from '../peer';
import { SideProcess } from '../side_process';
import { SIDES } from '../sides';
import { significantDigits } from '../significant_digits';
import { takeTurns } from '../take_turns';
import type { Ready, TurnReport } from './child';
import { ensureClients } from './install';
import { clients } from './programs';
import { agrees, type ClientResult, type Round, resultOf } from './results';
import { type Folders, processOf } from './sides';
import { documentOf } from './table';
import type { Client } from './types';

/** More than any of these figures is worth. */
const rounded = significantDigits(4);

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { rounds: { type: 'string' }, out: { type: 'string' } },
  });
  const chosen = clients.filter(
    ({ name }) => positionals.length === 0 || positionals.some((text) => name.includes(text)),
  );
  const places = {
    clients: await ensureClients(),
    faceApi: await ensureFaceApi(),
    models: await ensureHumanModels(),
  };
  await ensurePeer();
  const load = currentLoad();
  const results: ClientResult[] = [];
  let first: Round | undefined;
  await withPeerLinked(async (linked) => {
    for (const client of chosen) {
      const rounds = await roundsOf(client, { ...places, linked }, Number(values.rounds ?? 3));
      first ??= rounds[0];
      results.push(resultOf(client, rounds));
    }
  });

  const date = new Date().toISOString().slice(0, 10);
  const { device, tensorflow } = first!.tftrt.ready;
  const gpu = device === 'gpu' ? gpuAndDriver() : undefined;
  const machine = describeMachine({ tftrt: { tensorflow }, peer: { tensorflow } }, load);
  const document = documentOf(results, { date, gpu, machine });
  console.log(document);
  if (values.out !== undefined || positionals.length === 0) {
    const file = resolve(
      values.out ?? join(packageRoot, 'benchmarks', 'results', `${date}-${device}-clients.json`),
    );
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${JSON.stringify({ date, gpu, device, machine, results }, rounded, 1)}\n`);
    writeFileSync(file.replace(/\.json$/, '.md'), document);
    console.log(`Written: ${file}`);
  }
  if (!results.every(agrees)) process.exitCode = 1;
}

async function roundsOf(client: Client, folders: Folders, count: number): Promise<Round[]> {
  const { name, peerLacks } = client;
  if (peerLacks !== undefined) await expectFailure(name, folders, peerLacks);
  const sides = peerLacks === undefined ? SIDES : SIDES.filter((side) => side === 'tftrt');
  const rounds: Round[] = [];
  for (let i = 0; i < count; i++) {
    const order = i % 2 === 0 ? sides : [...sides].reverse();
    rounds.push(await takeTurns<Ready, TurnReport>(order, (side) => processOf(side, name, folders)));
  }
  return rounds;
}

/** Throws unless the client fails on the peer as it is said to. */
async function expectFailure(name: string, folders: Folders, text: string): Promise<void> {
  const peer = new SideProcess<Ready, TurnReport>(processOf('peer', name, folders));
  const failed = await peer.ready().then(
    () => false,
    (error: Error) => error.message.includes(text),
  );
  await peer.close();
  if (!failed)
    throw new TftrtError(
      'TFTRT_BENCH_DIFFERS',
      `${name} was to fail on the peer with '${text}', but did not.`,
    );
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
