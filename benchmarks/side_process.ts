import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { TftrtError } from '#src/errors';
import type { Ready, TurnReport } from './protocol';
import type { Models, SideName } from './types';

const ERROR_TAIL = 4000;
const CLOSE_TIMEOUT_MS = 10_000;

/** The process of one side of one case, seen from the parent. */
export class SideProcess {
  readonly #name: string;
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #lines: AsyncIterator<string>;
  #errors = '';

  constructor(side: SideName, caseName: string, models: Models) {
    this.#name = `${caseName} on ${side}`;
    const child = [join(__dirname, 'child.js'), side, caseName, JSON.stringify(models)];
    this.#process = spawn(process.execPath, child, {
      stdio: ['pipe', 'pipe', 'pipe'],
      // TensorFlow's start-up messages; its errors still show.
      env: { TF_CPP_MIN_LOG_LEVEL: '2', ...process.env },
    });
    this.#process.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-ERROR_TAIL);
    });
    // A child that died is noticed by its output ending; writing to it must not throw on top of that.
    this.#process.stdin.on('error', () => {});
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }

  /** Waits until the child has loaded, prepared and warmed up. */
  ready(): Promise<Ready> {
    return this.#receive<Ready>();
  }

  /** Lets the child measure for one turn; it waits, using no CPU, at all other times. */
  turn(): Promise<TurnReport> {
    this.#process.stdin.write('turn\n');
    return this.#receive<TurnReport>();
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

  async #receive<T>(): Promise<T> {
    const { value, done } = await this.#lines.next();
    if (!done) return JSON.parse(value as string) as T;
    if (this.#process.exitCode === null && this.#process.signalCode === null)
      await once(this.#process, 'exit');
    const how = this.#process.signalCode ?? `code ${this.#process.exitCode}`;
    throw new TftrtError(
      'TFTRT_BENCH_CHILD_FAILED',
      `The benchmark ${this.#name} ended early (${how}). The last that it printed:\n${this.#errors.trim()}`,
    );
  }
}
