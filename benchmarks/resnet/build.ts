import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSide } from '../sides';
import type { Contestant } from './contestants';
import type { RunOptions } from './measure';
import { seconds } from './measure';
import { type Format, type ModelFacts, Subject } from './subject';

/** The engines that the measurements need. The SavedModel comes last: the graph is the same, so the cache should have it. */
function engines(largeBatch: number): [Format, number][] {
  return [
    ['graph', 1],
    ['graph', largeBatch],
    ['saved', 1],
  ];
}

/** Builds the engines of one contestant in this process; what the cache has is only loaded. */
export async function build(who: Contestant, options: RunOptions): Promise<void> {
  if (who.engine === undefined) {
    console.log(`${who.name} has no engines to build`);
    return;
  }
  const side = await openSide(who.side, { ...who.configuration, ...options.configuration });
  const subject = new Subject(side, who, { ...options, contestant: who.name });
  const file = join(options.out, `build-${who.name}.json`);
  mkdirSync(options.out, { recursive: true });
  for (const [format, batch] of engines(options.largeBatch)) {
    await subject.load(format, batch);
    const name = subject.nameOf(format, batch);
    const start = performance.now();
    console.log(`${who.name}, ${name}: building`);
    const facts = await subject.makeReady(format, batch, (message) =>
      console.log(`  ${seconds(start)} ${message}`),
    );
    keep(file, facts);
    const { engine, agreement } = facts;
    console.log(
      `  ${engine!.serving}${engine!.serving === 'tensorrt' ? '' : `: ${engine!.reason}`}, ${seconds(start)}; engines: ` +
        `${engine!.engines.map((one) => `${one.name} ${one.nodes} nodes ${Math.round(one.sizeBytes / 2 ** 20)} MiB ${one.fromCache ? 'from the cache' : `built in ${Math.round(one.buildMs / 1000)} s`}`).join(', ')}\n` +
        `  against Python's TensorFlow: max. difference ${agreement.maxAbsoluteDifference.toPrecision(3)}, same class for ${Math.round(agreement.sameClass * 100)} % of ${agreement.images} images`,
    );
  }
}

/** The engines that were built, as far as the results folder knows. A later run from the cache must not hide the build time. */
export function readBuilds(out: string, contestant: string): ModelFacts[] {
  const file = join(out, `build-${contestant}.json`);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ModelFacts[]) : [];
}

function keep(file: string, facts: ModelFacts): void {
  const known = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ModelFacts[]) : [];
  const before = known.find(({ name }) => name === facts.name);
  const onlyLoaded = facts.engine?.engines.every(({ fromCache }) => fromCache) ?? false;
  if (before !== undefined && onlyLoaded) return;
  const all = [...known.filter((one) => one !== before), facts];
  writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`);
}
