/** The 12 members of `tf.node` on both sides, case by case: `node dist-dev/benchmarks/tfjs_node/main.js`. See README.md in this folder. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import * as tf from '@tensorflow/tfjs';
import * as tftrt from 'tfjs-backend-tftrt';
import { packageRoot } from '#src/setup/paths';
import { gpuAndDriver } from '../machine';
import { ensurePeer } from '../peer';
import { cases, idOf } from './cases';
import { type Comparison, compare } from './compare';
import { runSide } from './run_side';
import { documentOf } from './table';

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { out: { type: 'string' }, 'no-install': { type: 'boolean' } },
  });
  if (!values['no-install']) await ensurePeer();
  await tf.setBackend('tftrt');
  const numbers = [...cases.keys()].filter(
    (number) => positionals.length === 0 || positionals.some((text) => idOf(cases[number]!).includes(text)),
  );
  const comparisons = await compareAll(numbers);

  const date = new Date().toISOString().slice(0, 10);
  const { tensorFlowVersion, device } = tftrt.stats();
  const where = `${(device.includes('GPU') && gpuAndDriver()) || 'CPU'}; Node ${process.versions.node}; both on TensorFlow ${tensorFlowVersion}; ${date}.`;
  const document = documentOf(comparisons, where);
  console.log(document);
  if (values.out !== undefined || positionals.length === 0) {
    const file = resolve(
      values.out ?? join(packageRoot, 'benchmarks', 'results', `${date}-tfjs-node-cases.json`),
    );
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${jsonOf({ date, where, comparisons })}\n`);
    writeFileSync(file.replace(/\.json$/, '.md'), document);
    console.log(`Written: ${file}`);
  }
  if (comparisons.some(({ verdict }) => verdict === 'differs')) process.exitCode = 1;
}

async function compareAll(numbers: readonly number[]): Promise<Comparison[]> {
  const root = mkdtempSync(join(tmpdir(), 'tftrt-tfjs-node-'));
  try {
    const ours = await runSide('tftrt', numbers, join(root, 'tftrt'));
    const theirs = await runSide('peer', numbers, join(root, 'peer'));
    return numbers.map((number) => compare(number, ours.get(number)!, theirs.get(number)!));
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

interface Report {
  readonly date: string;
  readonly where: string;
  readonly comparisons: readonly Comparison[];
}

/** One comparison on a line; where both sides did the same, only once. */
function jsonOf({ comparisons, ...others }: Report): string {
  const lines = comparisons
    .map(({ outcomes, ...one }) => ({
      ...one,
      ...(one.verdict === 'same' ? { outcome: outcomes.tftrt } : { outcomes }),
    }))
    .map((one) => `  ${JSON.stringify(one)}`)
    .join(',\n');
  return `${JSON.stringify(others).slice(0, -1)}, "comparisons": [\n${lines}\n]}`;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
