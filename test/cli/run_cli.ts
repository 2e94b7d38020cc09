import { execFile } from 'node:child_process';
import path from 'node:path';
import { packageRoot } from '#src/setup/paths';

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command `tftrt`; `env` sets environment variables or, with undefined, unsets them. */
export function tftrt(args: readonly string[], env: Record<string, string | undefined> = {}): Promise<Ended> {
  const main = path.join(packageRoot, 'dist/cli/main.js');
  return new Promise((resolve, reject) => {
    const options = { env: { ...process.env, ...env }, timeout: 120_000 };
    execFile(process.execPath, [main, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, stdout, stderr });
      else reject(error);
    });
  });
}
