/**
 * face-api on one side, in a process of its own: `child.js <tftrt|peer> <folder of face-api>`. How the process is
 * started decides what serves face-api (sides.ts); the name is only checked. It prints a line of JSON when it has seen every photo once, then one for every line "turn" on its standard input.
 */
import { createInterface } from 'node:readline';
import { FaceClient, type PhotoFile, readPhotos } from './client';
import type { Photo } from './faces';

/** The first line. */
export interface Ready {
  readonly versions: Record<string, string>;
  readonly device: 'cpu' | 'gpu';
  /** Loading face-api and with it the backend; loading its nets. */
  readonly openMs: number;
  readonly netsMs: number;
  readonly photos: readonly Photo[];
  /** The first look at each photo. */
  readonly firstMs: readonly number[];
  /** Tensors left over by all looks but the first at each photo. */
  readonly tensorsLeft: number;
}

/** A turn: how long a look at each photo took. */
export interface TurnReport {
  readonly ms: readonly number[];
  /** CPU time of the whole process. */
  readonly cpuMs: number;
}

/** What tfjs-node's backend tells of itself. */
interface NodeBackend {
  readonly isUsingGpuDevice: boolean;
  readonly binding: { readonly TF_Version: string };
}

async function main(): Promise<void> {
  // Standard output carries the protocol: what libraries print goes elsewhere.
  console.log = console.error;
  const [side, home] = process.argv.slice(2);
  if (home === undefined) throw new Error('Usage: child.js <tftrt|peer> <folder of @vladmandic/face-api>');
  const files = readPhotos(home);

  const start = performance.now();
  const client = await FaceClient.open(home);
  const opened = performance.now();
  if ((client.tf.findBackendFactory('tftrt') === null) === (side === 'tftrt'))
    throw new Error(`This process was to have face-api on ${side}, but it is on the other side.`);
  await client.loadNets(home);
  const loaded = performance.now();
  const first = await lookAtAll(client, files);
  const tensors = client.tf.memory().numTensors;
  await lookAtAll(client, files);
  const backend = client.tf.backend() as unknown as NodeBackend;
  const ready: Ready = {
    versions: { ...(client.tf.version as Record<string, string>), tensorflow: backend.binding.TF_Version },
    device: backend.isUsingGpuDevice ? 'gpu' : 'cpu',
    openMs: opened - start,
    netsMs: loaded - opened,
    photos: first.photos,
    firstMs: first.ms,
    tensorsLeft: client.tf.memory().numTensors - tensors,
  };
  send(ready);

  for await (const line of createInterface({ input: process.stdin })) {
    if (line !== 'turn') throw new Error(`Unknown command '${line}'; expected 'turn'.`);
    const before = process.cpuUsage();
    const { ms } = await lookAtAll(client, files);
    const { user, system } = process.cpuUsage(before);
    send({ ms, cpuMs: (user + system) / 1000 } satisfies TurnReport);
  }
}

async function lookAtAll(
  client: FaceClient,
  files: readonly PhotoFile[],
): Promise<{ photos: Photo[]; ms: number[] }> {
  const photos: Photo[] = [];
  const ms: number[] = [];
  for (const file of files) {
    const start = performance.now();
    photos.push(await client.look(file));
    ms.push(performance.now() - start);
  }
  return { photos, ms };
}

function send(message: Ready | TurnReport): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
