import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { TftrtError } from '../errors';
import { makeFolder, remedyFor } from './make_folder';

/** Holds an flock until its standard input closes, which the kernel does for us however this process ends. */
const HOLDER = `
import fcntl, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
file = open(sys.argv[1], "a")
try:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("waiting", flush=True)
    fcntl.flock(file, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
`;

/**
 * Runs `work` while no other process does so with the same lock file. Node has no file locks and a lock file alone
 * outlives a killed process, so a small Python process holds the lock: it ends with this one, and the lock with it.
 */
export async function withLock<T>(file: string, onWait: () => void, work: () => Promise<T>): Promise<T> {
  makeFolder(path.dirname(file));
  requireWritable(file);
  const holder = spawn('python3', ['-c', HOLDER, file], { stdio: ['pipe', 'pipe', 'pipe'] });
  let complaint = '';
  holder.stderr.on('data', (data) => {
    complaint += data;
  });
  const closed = new Promise<void>((resolve) => holder.once('close', () => resolve()));
  try {
    await new Promise<void>((resolve, reject) => {
      const refuse = (why: string) =>
        reject(new TftrtError('TFTRT_SETUP_LOCK', `Cannot lock ${file}: ${why.trim()}`));
      holder.once('error', (error: NodeJS.ErrnoException) =>
        error.code === 'ENOENT' ? reject(noPython()) : refuse(error.message),
      );
      holder.once('close', (code) => refuse(complaint || `python3 ended with exit code ${code}`));
      createInterface(holder.stdout).on('line', (line) => (line === 'locked' ? resolve() : onWait()));
    });
    return await work();
  } finally {
    holder.stdin.end();
    await closed;
  }
}

/** Python would say it in more words. */
function requireWritable(file: string): void {
  try {
    fs.closeSync(fs.openSync(file, 'a'));
  } catch (cause) {
    throw new TftrtError(
      'TFTRT_SETUP_LOCK',
      `Cannot lock ${file}: ${(cause as Error).message}. ${remedyFor(file)}`,
      { cause },
    );
  }
}

/** Set-up begins with a lock; later steps have pip, and need Python for it too. */
function noPython(): TftrtError {
  return new TftrtError(
    'TFTRT_SETUP_PYTHON',
    'There is no python3 on the PATH, which set-up needs, with pip, to fetch libraries. Install Python 3 with pip (on Debian or Ubuntu: ' +
      'apt-get install python3 python3-pip), then run the same command again. `npx tftrt install --from FOLDER` takes libraries that ' +
      'are there, and does without.',
  );
}
