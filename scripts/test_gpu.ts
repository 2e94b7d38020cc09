// `npm run test:gpu`: the tests that concern computing, on this machine's GPU. Arguments as for `npm test`: options for mocha,
// and test files, if only those are to run; `--jobs=N` runs N processes at once, since building engines takes a processor more than
// the GPU. Each file of test/gpu has a process of its own, so that a crash costs no other's results.
// Writes a report into the file that TFTRT_GPU_REPORT names, else a run of all tests into benchmarks/results; it grows as files end.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import * as tftrt from 'tfjs-backend-tftrt';
import { nativeRuntime, requireTensorRt } from '#src/native';
import { commitOfSource } from '../benchmarks/machine';
import { add, type Counts, conclude, type Result, runTestFiles } from './run_mocha';

const root = path.resolve(__dirname, '..', '..');

/** What differs on a GPU. Set-up, and graphs that only concern the CPU, are tested by `npm test`. */
const FOLDERS = ['backend', 'conformance', 'gpu', 'io', 'kernels', 'models', 'native', 'node', 'process'];

/** Those that build engines take minutes each: first, so that no one of them is left for the end. */
const isSlow = (file: string) => path.basename(file).startsWith('trt_');

function testFiles(): string[] {
  const files = FOLDERS.flatMap((folder) =>
    fs
      .readdirSync(path.join(root, 'test', folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts') && !file.includes('.isolated.'))
      .map((file) => path.join(root, 'test', folder, file)),
  ).sort();
  return [...files.filter(isSlow), ...files.filter((file) => !isSlow(file))];
}

/** What computes: as nvidia-smi and the libraries tell it. */
interface Machine {
  readonly gpu: string;
  readonly driver: string;
  readonly cudaDriver: string;
  readonly tensorFlow: string;
  readonly tensorRt: string;
  readonly device: string;
}

/** Throws where the GPU cannot be used. */
async function describeMachine(): Promise<Machine> {
  await tf.setBackend('tftrt');
  const { device, tensorFlowVersion } = tftrt.stats();
  const query = ['--query-gpu=name,driver_version', '--format=csv,noheader'];
  const [gpu, driver] = nvidiaSmi(query).split('\n')[0]!.split(', ');
  requireTensorRt();
  return {
    gpu: gpu!,
    driver: driver!,
    cudaDriver: /CUDA Version:\s*([\d.]+)/.exec(nvidiaSmi([]))?.[1] ?? 'unknown',
    tensorFlow: tensorFlowVersion,
    tensorRt: nativeRuntime().addon.tensorRtVersions().loaded,
    device,
  };
}

function nvidiaSmi(args: string[]): string {
  return execFileSync('nvidia-smi', args, { encoding: 'utf8' });
}

/** In a process that ends at once: this one must hold no memory of the GPU while the tests measure it. */
function machine(): Machine {
  const text = execFileSync(process.execPath, [__filename, DESCRIBE], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(text) as Machine;
}

const DESCRIBE = '--describe-machine';
const JOBS = '--jobs=';

/** A run of a part must not take the place of a whole one. */
function reportFile(date: string, whole: boolean): string | undefined {
  const { TFTRT_GPU_REPORT } = process.env;
  if (TFTRT_GPU_REPORT || !whole) return TFTRT_GPU_REPORT;
  return path.join(root, 'benchmarks', 'results', `${date.slice(0, 10)}-gpu-tests.json`);
}

/** What measures time or the memory of the GPU. */
const ALONE = ['event_loop', 'memory', 'memory_builds', 'auto_build'].map((name) =>
  path.join('test', 'gpu', `${name}.test.ts`),
);

function writeReport(args: readonly string[], described: Machine, results: readonly Result[]): Counts {
  const total: Counts = { passed: 0, failed: 0, skipped: 0 };
  for (const result of results) add(total, result);
  const date = new Date().toISOString();
  const commit = commitOfSource();
  const report = {
    date,
    command: ['npm run test:gpu', ...(args.length > 0 ? ['--', ...args] : [])].join(' '),
    ...described,
    node: process.version,
    ...(commit === undefined ? {} : { commit }),
    ...total,
    failures: results.flatMap(({ failures }) => failures),
    skippedTests: results.flatMap(({ skippedTests }) => skippedTests),
    processes: results.map(({ files, passed, failed, skipped, seconds }) => ({
      files: files.map((file) => path.relative(root, path.resolve(root, file))),
      passed,
      failed,
      skipped,
      seconds,
    })),
  };
  const file = reportFile(date, !args.some((argument) => !argument.startsWith(JOBS)));
  if (file) fs.writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
  return total;
}

async function main(): Promise<void> {
  process.env.TFTRT_DEVICE ??= 'gpu';
  const args = process.argv.slice(2);
  if (args[0] === DESCRIBE) {
    console.log(JSON.stringify(await describeMachine()));
    return;
  }
  const described = machine();
  const narrowed = args.some((argument) => argument.endsWith('.test.ts'));
  const forMocha = args.filter((argument) => !argument.startsWith(JOBS));
  const jobs = Number(args.find((argument) => argument.startsWith(JOBS))?.slice(JOBS.length) ?? 1);
  const soFar: Result[] = [];
  const results = await runTestFiles({
    args: narrowed ? forMocha : [...forMocha, ...testFiles()],
    timeoutMs: 120_000,
    jobs,
    alone: (file) => ALONE.includes(file),
    onResult: (result) => {
      soFar.push(result);
      writeReport(args, described, soFar);
    },
    ownProcess: (file) => file.startsWith(path.join('test', 'gpu', path.sep)) || file.includes('.isolated.'),
  });
  conclude(writeReport(args, described, results));
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
