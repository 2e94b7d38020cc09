/**
 * The process of one contestant: `node dist-dev/benchmarks/resnet/child.js <options as JSON>`. It answers the lines `prepare`
 * and `turn <scenario>` on its standard input with a line of JSON each (see protocol.ts), and ends with it.
 */
import { createInterface } from 'node:readline';
import { repeat } from '../sampling';
import { openSide } from '../sides';
import type { Prepared } from '../types';
import { contestant } from './contestants';
import type { Answer, ChildOptions, Opened, PreparedFacts, TurnAnswer } from './protocol';
import { batchOf, SCENARIOS, type Scenario } from './scenarios';
import { type ModelFacts, Subject } from './subject';

const WARM_UP_MS = 250;
const WARM_UP_RUNS = 3;

async function main(): Promise<void> {
  // Standard output carries the protocol: what libraries print goes elsewhere.
  console.log = console.error;
  const options = JSON.parse(process.argv[2]!) as ChildOptions;
  const who = contestant(options.contestant);
  const start = performance.now();
  const side = await openSide(who.side, { ...who.configuration, ...options.configuration });
  const openMs = performance.now() - start;
  const subject = new Subject(side, who, options);
  const scenarios = SCENARIOS.filter(({ name }) => options.scenarios.includes(name));
  for (const scenario of scenarios)
    if (scenario.model) await subject.load(scenario.model.format, batchOf(scenario, options.largeBatch));
  const opened: Opened = { openMs, versions: side.versions, device: side.device };
  send(opened);

  const ready = new Map<string, Prepared>();
  for await (const line of createInterface({ input: process.stdin })) {
    const [command, name] = line.split(' ');
    if (command === 'prepare') send(await prepare(subject, scenarios, ready));
    else if (command === 'turn') send(await turn(ready.get(name!)!));
    else throw new Error(`Unknown command '${line}'; expected 'prepare' or 'turn <scenario>'.`);
  }
}

/** One scenario's failure leaves the others to run. */
async function prepare(
  subject: Subject,
  scenarios: readonly Scenario[],
  ready: Map<string, Prepared>,
): Promise<PreparedFacts> {
  const models = new Map<string, ModelFacts>();
  const failures: Record<string, string> = {};
  let firstOutputMs = 0;
  for (const scenario of scenarios) {
    try {
      if (scenario.model) {
        const { format } = scenario.model;
        const batch = batchOf(scenario, subject.settings.largeBatch);
        const name = subject.nameOf(format, batch);
        if (!models.has(name)) models.set(name, await subject.makeReady(format, batch));
        firstOutputMs ||= performance.now();
      }
      const prepared = await scenario.prepare(subject);
      await repeat(prepared.warmUp, scenario.warmUpMs ?? WARM_UP_MS, WARM_UP_RUNS);
      ready.set(scenario.name, prepared);
    } catch (error) {
      failures[scenario.name] = messageOf(error);
    }
  }
  return { models: [...models.values()], firstOutputMs, failures };
}

async function turn(prepared: Prepared): Promise<TurnAnswer> {
  try {
    return await prepared.turn();
  } catch (error) {
    return { error: messageOf(error) };
  }
}

function send(message: Opened | Answer): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
