import { spawn } from 'node:child_process';
import path from 'node:path';
import { SetupError } from '../errors';
import type { Complaint } from './check';

/** A probe that takes longer hangs. The first start on a new GPU may compile kernels for minutes. */
const TIMEOUT_MS = 10 * 60_000;

/** What a probe found, or why it could not. */
export type Outcome<T> = { readonly result: T } | { readonly complaint: Complaint };

/** What begins the line with a probe's outcome: libraries may write lines of their own. */
const MARK = 'tftrt-probe:';

/**
 * Runs a script of this folder in a process of its own: libraries stay loaded to the end of their process, and what is wrong
 * with them may end it. Never throws.
 */
export function probe<T>(script: string, env: NodeJS.ProcessEnv = {}): Promise<Outcome<T>> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [path.join(__dirname, `${script}.js`)], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (data) => {
      stdout += data;
    });
    child.stderr.on('data', (data) => {
      stderr += data;
    });
    const fail = (how: string) =>
      resolve({
        complaint: {
          code: 'TFTRT_CRASH',
          problem: `The process that tried it ended without a result (${how}).${stderr.trim() && `\n${stderr.trim()}`}`,
          remedy: "TensorFlow's own log may say why: run again with TF_CPP_MIN_LOG_LEVEL=0.",
        },
      });
    child.once('error', (error) => fail(error.message));
    child.once('close', (code, signal) => {
      const line = stdout.split('\n').find((text) => text.startsWith(MARK));
      if (line !== undefined && code === 0) resolve(JSON.parse(line.slice(MARK.length)));
      else fail(signal ?? `exit code ${code}`);
    });
  });
}

/** The other side: runs `work` and prints its outcome. */
export async function answer<T>(work: () => T | Promise<T>): Promise<void> {
  let outcome: Outcome<T>;
  try {
    outcome = { result: await work() };
  } catch (error) {
    outcome = { complaint: complaintOf(error) };
  }
  process.stdout.write(`\n${MARK}${JSON.stringify(outcome)}\n`);
}

/** An error as a complaint. */
export function complaintOf(error: unknown): Complaint {
  const { code, message } = error as { code?: string; message?: string };
  if (error instanceof SetupError) {
    return { code: error.code, problem: error.problem, remedy: error.remedy };
  }
  return { code: code ?? 'TFTRT_INTERNAL', problem: message ?? String(error), remedy: '' };
}
