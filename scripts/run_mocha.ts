import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

/** How many tests (or checks) ended how. */
export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

const root = path.resolve(__dirname, '..', '..');
/** How long a process may live on after its last test before that counts as a failure: something keeps it from ending. */
const GRACE_MS = 15_000;

/** The counts of one or several test files, and what failed: tests with their messages, or what became of the process. */
export interface Result extends Counts {
  readonly files: readonly string[];
  readonly failures: readonly string[];
  readonly skippedTests: readonly string[];
  /** From the start of the process to its end. */
  readonly seconds: number;
}

/** What a run of the tests needs beyond the tests. */
export interface MochaRun {
  /** Options for mocha, and `*.test.ts` files: if there are any, only those run. */
  readonly args: readonly string[];
  /** The most that one test may take, in milliseconds, unless it says otherwise. */
  readonly timeoutMs: number;
  readonly env?: NodeJS.ProcessEnv;
  /** Which files get a process of their own; by default the isolated ones. */
  readonly ownProcess?: (file: string) => boolean;
  /** Processes at once; each then prints all that it has to say at its end. Default 1. */
  readonly jobs?: number;
  /** Which files run while no other does, after all others. Default: none. */
  readonly alone?: (file: string) => boolean;
  /** Told of each process that ended. */
  readonly onResult?: (result: Result) => void;
}

/** Whether a file's tests are of what can be done once per process, such as loading libraries. */
const isIsolated = (file: string) => file.endsWith('.isolated.test.ts');

/** Runs the tests in processes of mocha's, prints its reports, and returns the counts of all. */
export async function runTests(run: MochaRun): Promise<Counts> {
  const total: Counts = { passed: 0, failed: 0, skipped: 0 };
  for (const result of await runTestFiles(run)) add(total, result);
  return total;
}

/** As `runTests`: the result of each process, in the order of their ends. Files that share a run come first. */
export async function runTestFiles(run: MochaRun): Promise<Result[]> {
  const isTestFile = (argument: string) => argument.endsWith('.test.ts');
  const options = run.args.filter((argument) => !isTestFile(argument));
  const chosen = run.args.filter(isTestFile).map((file) => path.relative(root, path.resolve(file)));
  const files = chosen.length > 0 ? chosen : testSources();
  const { ownProcess = isIsolated, alone = () => false, jobs = 1 } = run;
  const own = files.filter(ownProcess);
  const together = [
    files.filter((file) => !ownProcess(file)),
    ...own.filter((f) => !alone(f)).map((f) => [f]),
  ];

  const results: Result[] = [];
  const runGroups = async (groups: string[][]) => {
    for (let group = groups.shift(); group !== undefined; group = groups.shift()) {
      if (group.length === 0) continue;
      const result = await runMocha(group, options, run);
      results.push(result);
      run.onResult?.(result);
    }
  };
  await Promise.all(Array.from({ length: jobs }, () => runGroups(together)));
  await runGroups(own.filter(alone).map((file) => [file]));
  return results;
}

/** Adds the counts of one run to a total. */
export function add(total: Counts, counts: Counts): void {
  total.passed += counts.passed;
  total.failed += counts.failed;
  total.skipped += counts.skipped;
}

/** Prints the line that ends the output of a test command, and sets the exit code. */
export function conclude({ passed, failed, skipped }: Counts): void {
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
}

/** The test files, as sources: what is compiled may be of a source that is gone. Those of `test/gpu` need a GPU. */
function testSources(): string[] {
  return fs
    .readdirSync(path.join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts') && !file.startsWith(`gpu${path.sep}`))
    .map((file) => path.join('test', file))
    .sort();
}

function runMocha(sources: readonly string[], options: readonly string[], run: MochaRun): Promise<Result> {
  const output = (run.jobs ?? 1) > 1 ? 'pipe' : 'inherit';
  const child = spawn(
    process.execPath,
    [
      '--expose-gc', // for tests that count what is alive
      path.join(root, 'node_modules/mocha/bin/mocha.js'),
      ...['--reporter', path.join(__dirname, 'reporter.js'), '--timeout', String(run.timeoutMs)],
      ...options,
      ...sources.map((file) => path.join(root, 'dist-dev', file.replace(/\.ts$/, '.js'))),
    ],
    { cwd: root, env: { ...process.env, ...run.env }, stdio: ['inherit', output, output, 'ipc'] },
  );
  const begun = performance.now();
  const said: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data: Buffer) => said.push(data));
  return new Promise((resolve, reject) => {
    let report: Omit<Result, 'files' | 'seconds'> | undefined;
    let lingers = false;
    let timer: NodeJS.Timeout | undefined;
    child.once('message', (message) => {
      report = message as typeof report;
      timer = setTimeout(() => {
        lingers = true;
        child.kill('SIGKILL');
      }, GRACE_MS);
    });
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      process.stdout.write(Buffer.concat(said));
      const problem = lingers
        ? `did not end within ${GRACE_MS / 1000} s of its last test`
        : signal
          ? `was killed by ${signal}`
          : code !== 0 && !report?.failed
            ? `ended with exit code ${code}`
            : null;
      const nothing = { passed: 0, failed: 0, skipped: 0, failures: [], skippedTests: [] };
      const seconds = Math.round((performance.now() - begun) / 1000);
      const result = { files: sources, ...(report ?? nothing), seconds };
      if (problem === null) return resolve(result);
      const sentence = `The test process of ${sources.join(' ')} ${problem}.`;
      console.log(`\n${sentence}`);
      resolve({ ...result, failed: result.failed + 1, failures: [...result.failures, sentence] });
    });
  });
}
