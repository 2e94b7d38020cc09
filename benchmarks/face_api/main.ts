/** face-api on both sides: `node dist-dev/benchmarks/face_api/main.js`. See README.md in this folder. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { TftrtError } from '#src/errors';
import { packageRoot } from '#src/setup/paths';
import { ensureFaceApi } from '../../demo/fetch_models';
import { wholeNumber } from '../arguments';
import { currentLoad, describeMachine, gpuAndDriver } from '../machine';
import { ensurePeer } from '../peer';
import { progress } from '../progress';
import { significantDigits } from '../significant_digits';
import { measure, peersAnswer } from './measure';
import { pictureOf } from './picture';
import { agrees, DESCRIPTOR_TOLERANCE, type Results, resultsOf } from './results';
import { documentOf } from './table';

const USAGE = `Usage: main.js [options]
  --rounds N         rounds of fresh processes (5)
  --out FILE.json    the results; the table goes beside it as .md, the picture as .svg
  --face-api FOLDER  the package, fetched before: then nothing is installed or compiled
  --picture FILE     only draws: takes the results from this file
  --reference FILE   only writes what the peer finds, for test/node/face_api.test.ts
  --background N     the picture's photos are this wide: 40, the default, shows no more than where people are`;

/** They tell descriptors apart well below what is allowed. */
const rounded = significantDigits(6);

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: Object.fromEntries(
      ['rounds', 'out', 'face-api', 'picture', 'reference', 'background'].map((name) => [
        name,
        { type: 'string' as const },
      ]),
    ),
  }) as { values: Record<string, string | undefined> };
  const home = values['face-api'] ? resolve(values['face-api']) : await ensureFaceApi();
  if (values['face-api'] === undefined && values.picture === undefined) await ensurePeer();
  if (values.reference !== undefined) {
    const reference = await peersAnswer(home);
    return writeFileSync(values.reference, `${inLines(JSON.stringify(reference, rounded, 1))}\n`);
  }
  const results = values.picture
    ? (JSON.parse(readFileSync(values.picture, 'utf8')) as Results)
    : await run(home, wholeNumber('rounds', values.rounds, 5, USAGE));
  const file = resolve(values.out ?? values.picture ?? defaultFile(results));
  const beside = file.replace(/\.json$/, '');
  mkdirSync(dirname(file), { recursive: true });
  if (values.picture === undefined) {
    writeFileSync(file, `${inLines(JSON.stringify(results, rounded, 1))}\n`);
    writeFileSync(`${beside}.md`, documentOf(results));
    console.log(`${documentOf(results)}\nWritten: ${file}`);
  }
  const picture = await pictureOf(results, home, wholeNumber('background', values.background, 40, USAGE));
  writeFileSync(`${beside}.svg`, picture);
  console.log(`Written: ${beside}.svg`);
  if (!agrees(results))
    throw new TftrtError(
      'TFTRT_BENCH_DIFFERS',
      `The two sides did not find the same: expected the same faces, and descriptors within ${DESCRIPTOR_TOLERANCE}. See the table.`,
    );
}

async function run(home: string, rounds: number): Promise<Results> {
  const load = currentLoad();
  const date = new Date().toISOString().slice(0, 10);
  const gpu = gpuAndDriver();
  const done = await measure(home, rounds, progress);
  const { tftrt, peer } = done[0]!;
  const versions = { tftrt: tftrt.ready.versions, peer: peer.ready.versions };
  return resultsOf(done, {
    date,
    ...(gpu === undefined || tftrt.ready.device === 'cpu' ? {} : { gpu }),
    machine: describeMachine(versions, load),
  });
}

function defaultFile({ date, device }: Results): string {
  return join(packageRoot, 'benchmarks', 'results', `${date}-${device}-face-api.json`);
}

/** Puts lists of numbers on one line each. */
function inLines(json: string): string {
  return json.replace(/\[[-\d.e+,\s]+\]/g, (list) => list.replace(/\s+/g, ''));
}

main().catch((error: unknown) => {
  console.error(error instanceof TftrtError ? `${error.code}: ${error.message}` : error);
  process.exitCode = 1;
});
