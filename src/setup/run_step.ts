import { type ChildProcess, spawn } from 'node:child_process';
import os from 'node:os';
import { TftrtError } from '../errors';

/** How often a long step shows life where there is no terminal for its own progress display, in milliseconds. */
const HEARTBEAT_MS = 15_000;

/** How long a program has to end after it was told to, in milliseconds. */
const GRACE_MS = 5000;

/** What stops set-up, and its programs with it. */
const STOPPING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Somebody stopped set-up. */
export class InterruptedError extends TftrtError {
  /** By which shells know that a program was stopped. */
  readonly exitCode: number;

  constructor(signal: NodeJS.Signals, title: string) {
    super(
      'TFTRT_INTERRUPTED',
      `Interrupted (${signal}): ${title}. Nothing of it was kept; run the same command again to start anew.`,
    );
    this.exitCode = 128 + os.constants.signals[signal];
  }
}

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
 * is kept for the error of a failure. Whoever stops this process stops the program and those that it started.
 */
export async function runStep(step: Step): Promise<void> {
  report(`${step.title} (usually ${step.usually})`);
  const start = Date.now();
  const seconds = () => `${Math.round((Date.now() - start) / 1000)} s`;
  const onTerminal = Boolean(process.stderr.isTTY);
  const child = spawn(step.command, step.args, {
    cwd: step.cwd,
    env: { ...process.env, ...step.env },
    detached: true, // a process group of its own, which can be ended as a whole
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
  let interruption: InterruptedError | undefined;
  let grace: NodeJS.Timeout | undefined;
  const stop = (signal: NodeJS.Signals) => {
    const isFirst = interruption === undefined;
    interruption ??= new InterruptedError(signal, step.title);
    endGroup(child, isFirst ? 'SIGTERM' : 'SIGKILL');
    grace ??= setTimeout(() => endGroup(child, 'SIGKILL'), GRACE_MS);
  };
  for (const signal of STOPPING) process.on(signal, stop);
  // What the program itself started may outlive it.
  child.once('exit', () => interruption && endGroup(child, 'SIGKILL'));

  try {
    const how = await new Promise<string | null>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (code, signal) =>
        resolve(signal ? `killed by ${signal}` : code === 0 ? null : `exit code ${code}`),
      );
    });
    if (interruption !== undefined) throw interruption;
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
    clearTimeout(grace);
    for (const signal of STOPPING) process.removeListener(signal, stop);
  }
  report(`  done in ${seconds()}`);
}

function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return; // it could not be started
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
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
