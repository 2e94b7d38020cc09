import { mkdirSync } from 'node:fs';
import { openSide } from '../sides';
import type { Contestant } from './contestants';
import type { RunOptions } from './measure';
import { seconds } from './measure';
import { type Format, Subject } from './subject';

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
  mkdirSync(options.out, { recursive: true });
  for (const [format, batch] of engines(options.largeBatch)) {
    await subject.load(format, batch);
    const name = subject.nameOf(format, batch);
    const start = performance.now();
    console.log(`${who.name}, ${name}: building`);
    const facts = await subject.makeReady(format, batch, (message) =>
      console.log(`  ${seconds(start)} ${message}`),
    );
    const { engine, agreement } = facts;
    console.log(
      `  ${engine!.serving}${engine!.serving === 'tensorrt' ? '' : `: ${engine!.reason}`}, ${seconds(start)}; engines: ` +
        `${engine!.engines.map((one) => `${one.name} ${one.nodes} nodes ${Math.round(one.sizeBytes / 2 ** 20)} MiB ${one.fromCache ? 'from the cache' : `built in ${Math.round(one.buildMs / 1000)} s`}`).join(', ')}\n` +
        `  against Python's TensorFlow: max. difference ${agreement.maxAbsoluteDifference.toPrecision(3)}, same class for ${Math.round(agreement.sameClass * 100)} % of ${agreement.images} images`,
    );
  }
}
