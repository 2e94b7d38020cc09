// `npm run test:gpu`: the tests that concern computing, on this machine's GPU. Takes mocha options as `npm test` does.
// Writes a report into benchmarks/results, or into the file that TFTRT_GPU_REPORT names.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import * as tftrt from 'tfjs-backend-tftrt';
import { conclude, runTests } from './run_mocha';

const root = path.resolve(__dirname, '..', '..');

/** What differs on a GPU. Set-up, and graphs that only concern the CPU, are tested by `npm test`. */
const FOLDERS = ['backend', 'conformance', 'gpu', 'io', 'kernels', 'models', 'native', 'process'];

function testFiles(): string[] {
  return FOLDERS.flatMap((folder) =>
    fs
      .readdirSync(path.join(root, 'test', folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts') && !file.includes('.isolated.'))
      .map((file) => path.join(root, 'test', folder, file)),
  ).sort();
}

/** One line of nvidia-smi: GPU and driver. */
function gpuAndDriver(): { gpu: string; driver: string } {
  const output = execFileSync('nvidia-smi', ['--query-gpu=name,driver_version', '--format=csv,noheader'], {
    encoding: 'utf8',
  });
  const [gpu, driver] = output.split('\n')[0]!.split(', ');
  return { gpu: gpu!, driver: driver! };
}

async function main(): Promise<void> {
  process.env.TFTRT_DEVICE ??= 'gpu';
  await tf.setBackend('tftrt');
  const { device, tensorFlowVersion } = tftrt.stats(); // throws where the GPU cannot be used
  const date = new Date().toISOString();
  const counts = await runTests({ args: [...process.argv.slice(2), ...testFiles()], timeoutMs: 120_000 });
  const report = {
    date,
    command: 'npm run test:gpu',
    ...gpuAndDriver(),
    device,
    tensorFlow: tensorFlowVersion,
    node: process.version,
    ...counts,
  };
  const file =
    process.env.TFTRT_GPU_REPORT ??
    path.join(root, 'benchmarks', 'results', `${date.slice(0, 10)}-gpu-tests.json`);
  fs.writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
  conclude(counts);
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
