import { fork } from 'node:child_process';
import path from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '#src/setup/paths';

/** Runs one of `traps/` in a process of its own, and returns its result. Fails when the process dies or throws. */
export async function runTrap<Result>(
  file: string,
  name: string,
  {
    argument,
    env = {},
    timeoutMs = 240_000,
  }: { argument?: unknown; env?: NodeJS.ProcessEnv; timeoutMs?: number } = {},
): Promise<Result> {
  const args = [path.join(__dirname, 'traps', file), name];
  if (argument !== undefined) args.push(JSON.stringify(argument));
  const child = fork(path.join(__dirname, 'trap.js'), args, {
    cwd: packageRoot,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    serialization: 'advanced', // keeps NaN and infinities
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  let output = '';
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-4000);
    });
  }
  let message: { result: Result } | undefined;
  child.on('message', (received) => {
    message = received as { result: Result };
  });
  const ended = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>(
    (resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => resolve({ code, signal }));
    },
  );
  expect(ended, `${name}:\n${output}`).to.deep.equal({ code: 0, signal: null });
  expect(message, `${name} gave no result:\n${output}`).to.not.equal(undefined);
  return message!.result;
}
