import { spawn } from 'node:child_process';
import { TftrtError } from '../errors';

/** How often a long step shows life where there is no terminal for its own progress display, in milliseconds. */
const HEARTBEAT_MS = 15_000;

/** A program that set-up runs and that may take long. */
export interface Step {
  /** What it does, as in "installing X". */
  readonly title: string;
  /** How long it usually takes, as in "1 to 2 minutes". */
  readonly usually: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** The code of the error that is thrown when it fails. */
  readonly errorCode: string;
  /** What the user can do when it fails. */
  readonly remedy: string;
}

/** Prints a line about set-up's progress. Standard output is left to the command that set-up prepares. */
export function report(line: string): void {
  process.stderr.write(`tftrt: ${line}\n`);
}

/**
 * Runs a step. On a terminal the program's own progress shows; elsewhere a line every 15 seconds does, and the output
 * is kept for the error of a failure.
 */
export async function runStep(step: Step): Promise<void> {
  report(`${step.title} (usually ${step.usually})`);
  const start = Date.now();
  const seconds = () => `${Math.round((Date.now() - start) / 1000)} s`;
  const onTerminal = Boolean(process.stderr.isTTY);
  const child = spawn(step.command, step.args, {
    cwd: step.cwd,
    env: { ...process.env, ...step.env },
    stdio: onTerminal ? ['ignore', 2, 2] : ['ignore', 'pipe', 'pipe'],
  });

  let output = '';
  const keep = (data: Buffer) => {
    output += data;
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  const heartbeat = setInterval(() => {
    if (!onTerminal) report(`  ${seconds()}: ${lastLine(output) || 'still working'}`);
  }, HEARTBEAT_MS);
  // Whoever stops set-up means its programs too. (Ctrl-C reaches them by itself.)
  const stop = (signal: NodeJS.Signals) => child.kill(signal);
  process.once('SIGTERM', stop).once('SIGHUP', stop);

  try {
    const how = await new Promise<string | null>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (code, signal) =>
        resolve(signal ? `killed by ${signal}` : code === 0 ? null : `exit code ${code}`),
      );
    });
    if (how !== null) {
      const said = onTerminal ? 'Its output is above.' : output.trimEnd();
      const command = [step.command, ...step.args].join(' ');
      throw new TftrtError(
        step.errorCode,
        `Failed: ${step.title} (${how}): ${command}\n${said}\n${step.remedy}`,
      );
    }
  } finally {
    clearInterval(heartbeat);
    process.removeListener('SIGTERM', stop).removeListener('SIGHUP', stop);
  }
  report(`  done in ${seconds()}`);
}

function lastLine(text: string): string {
  return (
    text
      .slice(-2000)
      .trimEnd()
      .split(/[\r\n]/)
      .pop()
      ?.trim() ?? ''
  );
}
