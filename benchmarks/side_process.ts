import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { TftrtError } from '#src/errors';

const ERROR_TAIL = 4000;
const CLOSE_TIMEOUT_MS = 10_000;

/** What a process runs. */
export interface SideOptions {
  /** What it is called in errors. */
  readonly name: string;
  readonly script: string;
  /** Options for Node itself. */
  readonly nodeArgs?: readonly string[];
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * A process that measures one side, seen from the parent. It writes a line of JSON of type `R` when it is ready, then one of
 * type `T` for each line that it is sent.
 */
export class SideProcess<R, T> {
  readonly #name: string;
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #lines: AsyncIterator<string>;
  #errors = '';

  constructor({ name, nodeArgs = [], script, args, env }: SideOptions) {
    this.#name = name;
    this.#process = spawn(process.execPath, [...nodeArgs, script, ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
      // TensorFlow's start-up messages; its errors still show.
      env: { TF_CPP_MIN_LOG_LEVEL: '2', ...process.env, ...env },
    });
    this.#process.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-ERROR_TAIL);
    });
    // A child that died is noticed by its output ending; writing to it must not throw on top of that.
    this.#process.stdin.on('error', () => {});
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }

  /** Waits until the child has loaded, prepared and warmed up. */
  ready(): Promise<R> {
    return this.#receive<R>();
  }

  /** Lets the child measure for one turn, or do what else the command says; it waits, using no CPU, at all other times. */
  turn(command = 'turn'): Promise<T> {
    this.#process.stdin.write(`${command}\n`);
    return this.#receive<T>();
  }

  /** Ends the child; one that does not end by itself is killed. */
  async close(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, 'exit');
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), CLOSE_TIMEOUT_MS);
    this.#process.stdin.end();
    await ended;
    clearTimeout(timer);
  }

  async #receive<M>(): Promise<M> {
    const { value, done } = await this.#lines.next();
    if (!done) return JSON.parse(value as string) as M;
    if (this.#process.exitCode === null && this.#process.signalCode === null)
      await once(this.#process, 'exit');
    const how = this.#process.signalCode ?? `code ${this.#process.exitCode}`;
    throw new TftrtError(
      'TFTRT_BENCH_CHILD_FAILED',
      `The benchmark ${this.#name} ended early (${how}). The last that it printed:\n${this.#errors.trim()}`,
    );
  }
}
