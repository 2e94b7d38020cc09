import { execFile } from 'node:child_process';
import { packageRoot } from '#src/setup/paths';

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs JavaScript (or, with `module`, an ES module) in a Node.js process of its own, from within the package. */
export function runNode(
  script: string,
  { module = false, env = {} }: { module?: boolean; env?: NodeJS.ProcessEnv } = {},
): Promise<Ended> {
  const args = [...(module ? ['--input-type=module'] : []), '-e', script];
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      args,
      { cwd: packageRoot, env: { ...process.env, ...env }, timeout: 120_000 },
      (_, stdout, stderr) => resolve({ code: child.exitCode, signal: child.signalCode, stdout, stderr }),
    );
  });
}
