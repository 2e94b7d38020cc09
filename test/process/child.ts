import { execFile } from 'node:child_process';
import { packageRoot } from '#src/setup/paths';

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Options {
  readonly module?: boolean;
  readonly env?: NodeJS.ProcessEnv;
  /** Another Node.js than the one of the tests. */
  readonly program?: string;
}

/** Runs JavaScript (or, with `module`, an ES module) in a Node.js process of its own, from within the package. */
export function runNode(
  script: string,
  { module = false, env = {}, program = process.execPath }: Options = {},
): Promise<Ended> {
  const args = [...(module ? ['--input-type=module'] : []), '-e', script];
  return new Promise((resolve) => {
    const child = execFile(
      program,
      args,
      { cwd: packageRoot, env: { ...process.env, ...env }, timeout: 120_000 },
      (_, stdout, stderr) => resolve({ code: child.exitCode, signal: child.signalCode, stdout, stderr }),
    );
  });
}

/**
 * Two messages of TensorFlow's GPU code, and the heading of the first, come whatever the level of its log is: they go through a
 * copy of Abseil in libtensorflow_cc that exports nothing by which to set its own.
 */
const LINES_OF_CUDA = [
  /^WARNING: All log messages before absl::InitializeLog\(\) is called are written to STDERR$/,
  /^I\d{4} .* cuda_executor\.cc:\d+\] successful NUMA node read from SysFS had negative value /,
  /^[IWE]\d{4} .* gpu_timer\.cc:\d+\] Skipping the delay kernel, /,
];

/** What a process wrote, without these. */
export function withoutLinesOfCuda(text: string): string {
  const isOfCuda = (line: string) => LINES_OF_CUDA.some((pattern) => pattern.test(line));
  return text
    .split('\n')
    .filter((line) => !isOfCuda(line))
    .join('\n');
}
