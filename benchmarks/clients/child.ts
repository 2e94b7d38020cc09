/**
 * A client on one side, in a process of its own: `child.js <tftrt|peer> <client> <Folders as JSON>`. How the process is started decides what serves it (sides.ts); the name is only checked. It prints a line of JSON when its work
 * is done once, then one for every line "turn" on its standard input.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { readPhotos } from '../face_api/client';
import { clients } from './programs';
import type { Folders } from './sides';
import type { Context, Findings } from './types';

/** The first line. */
export interface Ready {
  readonly version: string;
  readonly device: 'cpu' | 'gpu';
  readonly tensorflow: string;
  readonly openMs: number;
  readonly firstMs: number;
  readonly findings: Findings;
  /** Tensors left over by the second piece of work. */
  readonly tensorsLeft: number;
}

/** A turn: one piece of work. */
export interface TurnReport {
  readonly ms: number;
  readonly cpuMs: number;
}

interface NodeBackend {
  readonly isUsingGpuDevice: boolean;
  readonly binding: { readonly TF_Version: string };
}

async function main(): Promise<void> {
  // Standard output carries the protocol: what libraries print goes elsewhere.
  for (const name of ['log', 'info', 'warn'] as const) console[name] = console.error;
  const [side, name, json] = process.argv.slice(2);
  const client = clients.find((one) => one.name === name);
  if (client === undefined || json === undefined)
    throw new Error('Usage: child.js <tftrt|peer> <client> <Folders as JSON>');
  const { clients: folder, faceApi, models } = JSON.parse(json) as Folders;
  const requireClient = createRequire(join(folder, 'package.json'));
  const folderOf = (one: string) => join(folder, 'node_modules', one);
  const photos = readPhotos(faceApi).map(({ content }) => content);

  const start = performance.now();
  const tf = requireClient('@tensorflow/tfjs-node') as Context['tf'];
  await tf.ready();
  if ((tf.findBackendFactory('tftrt') === null) === (side === 'tftrt'))
    throw new Error(`This process was to have ${name} on ${side}, but it is on the other side.`);
  const work = await client.open({ require: requireClient, tf, photos, models, folderOf });
  const opened = performance.now();
  const findings = await work();
  const first = performance.now();
  const tensors = tf.memory().numTensors;
  await work();
  const backend = tf.backend() as unknown as NodeBackend;
  const { version } = JSON.parse(readFileSync(join(folderOf(client.package), 'package.json'), 'utf8')) as {
    version: string;
  };
  const ready: Ready = {
    version,
    device: backend.isUsingGpuDevice ? 'gpu' : 'cpu',
    tensorflow: backend.binding.TF_Version,
    openMs: opened - start,
    firstMs: first - opened,
    findings,
    tensorsLeft: tf.memory().numTensors - tensors,
  };
  send(ready);

  for await (const line of createInterface({ input: process.stdin })) {
    if (line !== 'turn') throw new Error(`Unknown command '${line}'; expected 'turn'.`);
    const [at, cpu] = [performance.now(), process.cpuUsage()];
    await work();
    const { user, system } = process.cpuUsage(cpu);
    send({ ms: performance.now() - at, cpuMs: (user + system) / 1000 } satisfies TurnReport);
  }
}

function send(message: Ready | TurnReport): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
