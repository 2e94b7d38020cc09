import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '#src/setup/paths';
import { type EventValue, readEventFile } from '../../test/support/event_files';
import { SideProcess } from '../side_process';
import type { SideName } from '../types';
import { canonical } from './canonical';
import type { EventFiles, Json, Outcome } from './types';

/** Runs cases on a side, by their numbers. A process that dies of one is replaced by another for the next. */
export async function runSide(
  side: SideName,
  numbers: readonly number[],
  root: string,
): Promise<Map<number, Outcome>> {
  const outcomes = new Map<number, Outcome>();
  let child: SideProcess<object, Outcome> | undefined;
  for (const number of numbers) {
    child ??= await start(side, root);
    try {
      outcomes.set(number, await child.turn(String(number)));
    } catch (error) {
      outcomes.set(number, { died: howItDied(error as Error) });
      child = undefined;
    }
  }
  await child?.close();
  // Only now: some cases leave it to the end of the process to write.
  for (const [number, outcome] of outcomes) {
    const whole =
      'value' in outcome && isEventFiles(outcome.value) ? { value: await eventsIn(outcome.value) } : outcome;
    outcomes.set(
      number,
      withoutPaths(whole, { [join(root, String(number))]: '<folder>', [packageRoot]: '<project>' }),
    );
  }
  return outcomes;
}

/** The folders of a run, which errors name, under names that are the same in all runs. */
function withoutPaths(outcome: Outcome, names: Readonly<Record<string, string>>): Outcome {
  const text = Object.entries(names).reduce(
    (all, [folder, name]) => all.replaceAll(folder, name),
    JSON.stringify(outcome),
  );
  return JSON.parse(text) as Outcome;
}

async function start(side: SideName, root: string): Promise<SideProcess<object, Outcome>> {
  mkdirSync(root, { recursive: true });
  const child = new SideProcess<object, Outcome>({
    name: `tf.node on ${side}`,
    script: join(__dirname, 'child.js'),
    args: [side, root],
  });
  await child.ready();
  return child;
}

function howItDied({ message }: Error): string {
  const lines = message.split('\n');
  const how = /ended early \((.*?)\)/.exec(lines[0]!)?.[1] ?? 'unknown';
  const check = lines.find((line) => line.includes('Check failed'));
  return check === undefined ? how : `${how}: ${check.slice(check.indexOf('Check failed'))}`;
}

function isEventFiles(value: Json): value is Json & EventFiles {
  return typeof (value as EventFiles | null)?.eventFiles === 'string';
}

/** What TensorFlow's reader finds in a folder's event files. */
async function eventsIn({ eventFiles, stored = false }: EventFiles): Promise<Json> {
  if (!existsSync(eventFiles)) return 'no folder';
  const files = readdirSync(eventFiles).filter((name) => name.includes('tfevents'));
  const values = files.sort().flatMap((name) => readEventFile(join(eventFiles, name)).values);
  return canonical({ files: files.length, values: values.map((value) => plain(value, stored)) });
}

/** A value of a summary; how it is stored only if that is what is compared. */
function plain({ step, tag, ...others }: EventValue, stored: boolean): object {
  const { simpleValue, tensor, plugin, pluginContent, displayName, description, dataClass } = others;
  const all = {
    step: String(step),
    tag,
    simpleValue,
    buckets: tensor?.values,
    plugin,
    pluginContent,
    displayName,
    description,
    ...(stored && { dtype: tensor?.dtype, dataClass }),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
