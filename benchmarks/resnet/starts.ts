import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, type RunOptions, START_SCENARIO, startContestant } from './measure';
import type { Opened, PreparedFacts } from './protocol';

/** A process from its start to its first output, alone on the machine. */
export interface Start {
  readonly contestant: string;
  readonly opened: Opened;
  readonly prepared: PreparedFacts;
}

/** Starts every contestant `times` times, one after the other. */
export async function measureStarts(options: RunOptions, times: number): Promise<void> {
  const starts: Start[] = [];
  for (const who of options.contestants)
    for (let i = 0; i < times; i++) {
      const process = startContestant(who, options, [START_SCENARIO]);
      try {
        const opened = await process.ready();
        const prepared = (await process.turn('prepare')) as PreparedFacts;
        starts.push({ contestant: who.name, opened, prepared });
        const engine = prepared.models[0]?.engine;
        const built = engine
          ? `, engine ${Math.round(engine.buildCallMs)} ms (${Object.entries(engine.stages)
              .map(([stage, ms]) => `${stage} at ${ms}`)
              .join(', ')})`
          : '';
        console.log(
          `${who.name}: library ${Math.round(opened.openMs)} ms, model ${Math.round(prepared.models[0]?.loadMs ?? Number.NaN)} ms${built}, first output after ${Math.round(prepared.firstOutputMs)} ms`,
        );
        for (const why of Object.values(prepared.failures)) console.log(`! ${who.name}: ${why}`);
      } catch (error) {
        console.log(`! ${who.name}: ${messageOf(error)}`);
      } finally {
        await process.close();
      }
    }
  mkdirSync(options.out, { recursive: true });
  writeFileSync(join(options.out, 'starts.json'), `${JSON.stringify(starts, null, 2)}\n`);
}
