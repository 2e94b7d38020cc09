import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { TftrtError } from '#src/errors';
import { withLock } from '#src/setup/lock';
import { useTemporaryFolder, writeFile } from './helpers';

const neverWaits = () => {
  throw new Error('had to wait');
};

describe('withLock', () => {
  const folder = useTemporaryFolder();
  const file = () => path.join(folder(), 'some', 'lock');

  /** Starts a process that takes the lock and keeps it until it is killed. */
  async function startHolder(): Promise<ChildProcess> {
    const code = `require('#src/setup/lock').withLock(process.argv[1], () => {}, async () => {
      process.send('locked');
      await new Promise(() => setInterval(() => {}, 1000));
    })`;
    const holder = spawn(process.execPath, ['-e', code, file()], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    await once(holder, 'message');
    return holder;
  }

  it('returns what the work returns, and can be taken again', async () => {
    expect(await withLock(file(), neverWaits, async () => 1)).to.equal(1);
    expect(await withLock(file(), neverWaits, async () => 2)).to.equal(2);
  });

  it('is free again when the work throws', async () => {
    const thrown = await withLock(file(), neverWaits, async () => {
      throw new Error('the work failed');
    }).catch((error) => error);
    expect(thrown.message).to.equal('the work failed');
    await withLock(file(), neverWaits, async () => {});
  });

  it('lets one work at a time', async () => {
    let running = 0;
    let most = 0;
    const work = async () => {
      running += 1;
      most = Math.max(most, running);
      await sleep(30);
      running -= 1;
    };
    await Promise.all([1, 2, 3, 4].map(() => withLock(file(), () => {}, work)));
    expect(most).to.equal(1);
  });

  it('waits for another process, says so, and goes on at once when that process is killed', async () => {
    const holder = await startHolder();
    const events: string[] = [];
    const waited = new Promise<void>((resolve) => {
      withLock(
        file(),
        () => {
          events.push('waiting');
          holder.kill('SIGKILL');
        },
        async () => {
          events.push('working');
        },
      ).then(resolve);
    });
    await waited;
    expect(holder.killed).to.equal(true);
    expect(events).to.deep.equal(['waiting', 'working']);
  });

  it('says why when the lock cannot be had', async () => {
    writeFile(path.join(folder(), 'lock', 'in-the-way'));
    const error = await withLock(
      path.join(folder(), 'lock'),
      () => {},
      async () => 'done',
    ).catch((thrown) => thrown);
    expect(error).to.be.instanceOf(TftrtError).with.property('code', 'TFTRT_SETUP_LOCK');
    expect(error.message).to.contain('EISDIR');
    expect(error.message).to.contain('that you may write to').and.not.contain('Traceback');
  });
});
