/**
 * One side, in a process of its own: `child.js <tftrt|peer> <folder>`. It prints `{}` when it is ready, and for each number of a
 * case on its standard input how that case went, as JSON. The cases' own folders are made in the folder.
 */
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { peerFolder } from '../peer';
import { canonical } from './canonical';
import { cases } from './cases';
import type { Case, Context, EventFiles, Outcome, TfjsNode } from './types';

async function main(): Promise<void> {
  // Standard output carries the protocol: what libraries print goes elsewhere.
  console.log = console.error;
  const [side, root] = process.argv.slice(2);
  if (root === undefined) throw new Error('Usage: child.js <tftrt|peer> <folder>');
  const tf = open(side!);
  await tf.ready();
  send({});
  for await (const line of createInterface({ input: process.stdin })) {
    const number = Number(line);
    const folder = join(root, String(number));
    mkdirSync(folder, { recursive: true });
    process.chdir(folder);
    send(await outcomeOf(cases[number]!, { tf, folder }));
  }
}

function open(side: string): TfjsNode {
  if (side === 'tftrt') return require('tfjs-backend-tftrt/node') as TfjsNode;
  return createRequire(join(peerFolder(), 'package.json'))('@tensorflow/tfjs-node-gpu') as TfjsNode;
}

async function outcomeOf(one: Case, context: Context): Promise<Outcome> {
  const engine = context.tf.engine();
  engine.startScope();
  try {
    let pending: unknown;
    try {
      pending = one.run(context);
    } catch (error) {
      return failure(error, 'throws');
    }
    const value = await pending;
    return { value: isEventFiles(value) ? { ...value } : await canonical(value) };
  } catch (error) {
    return failure(error, 'rejects');
  } finally {
    engine.endScope();
  }
}

function failure(error: unknown, how: 'throws' | 'rejects'): Outcome {
  const { message, code } = error as Error & { code?: string };
  return { error: message, ...(code && { code }), how };
}

function isEventFiles(value: unknown): value is EventFiles {
  return typeof (value as EventFiles | undefined)?.eventFiles === 'string';
}

function send(message: Outcome | object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
