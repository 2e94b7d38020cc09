/**
 * One side of one case, in a process of its own: `node dist-dev/benchmarks/child.js <tftrt|peer> <case> [models]`.
 * It prints a line of JSON when it is warm, then one for every line "turn" on its standard input, and ends with it.
 * The parent passes the models as JSON, so that nothing of what makes them is loaded beside the library measured.
 */
import { createInterface } from 'node:readline';
import { cases } from './cases';
import type { Ready, TurnReport } from './protocol';
import { repeat } from './sampling';
import { openSide } from './sides';
import type { Models } from './types';

const WARM_UP_MS = 600;
const WARM_UP_RUNS = 3;

async function main(): Promise<void> {
  // Standard output carries the protocol: what libraries print goes elsewhere.
  console.log = console.error;
  const [sideName, caseName, modelsJson] = process.argv.slice(2);
  const benchmark = cases.find(({ name }) => name === caseName);
  if ((sideName !== 'tftrt' && sideName !== 'peer') || benchmark === undefined)
    throw new Error(
      `Usage: child.js <tftrt|peer> <${cases.map(({ name }) => name).join('|')}> [models as JSON]`,
    );

  const models = modelsJson ? (JSON.parse(modelsJson) as Models) : await makeModels();
  const start = performance.now();
  const side = await openSide(sideName);
  const opened = performance.now();
  const prepared = await benchmark.prepare(side, models);
  await prepared.warmUp();
  const firstRun = performance.now();
  await repeat(prepared.warmUp, WARM_UP_MS, WARM_UP_RUNS);
  const ready: Ready = {
    openMs: opened - start,
    firstRunMs: firstRun - opened,
    versions: side.versions,
    device: side.device,
    output: prepared.output?.(),
  };
  send(ready);

  let waiting = { at: performance.now(), cpu: process.cpuUsage() };
  for await (const line of createInterface({ input: process.stdin })) {
    if (line !== 'turn') throw new Error(`Unknown command '${line}'; expected 'turn'.`);
    const waitMs = performance.now() - waiting.at;
    const waitCpuMs = cpuMs(waiting.cpu);
    const before = process.cpuUsage();
    const turn = await prepared.turn();
    const report: TurnReport = { ...turn, cpuMs: cpuMs(before), waitMs, waitCpuMs };
    send(report);
    waiting = { at: performance.now(), cpu: process.cpuUsage() };
  }
}

async function makeModels(): Promise<Models> {
  return (await import('./models.js')).ensureBenchModels();
}

function send(message: Ready | TurnReport): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** Milliseconds of CPU time, of all threads, since an earlier reading. */
function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
