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
