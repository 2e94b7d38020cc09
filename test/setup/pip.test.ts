import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { TftrtError } from '#src/errors';
import { installWithPip } from '#src/setup/pip';
import { ensureTensorFlow } from '#src/setup/tensorflow';
import { fakeTensorFlow, useEnvironment, useTemporaryFolder } from './helpers';

const PYTHON = execFileSync('sh', ['-c', 'command -v python3'], { encoding: 'utf8' }).trim();

/**
 * A `python3` whose pip installs a package of two files, slowly, and counts its runs in `runs`. With PIP_TEST=fail it
 * fails after the first file; with PIP_TEST=hang it never gets to the second. Everything else is the real Python's.
 */
const FAKE_PYTHON = `#!/bin/sh
[ "$1 $2 $3" = "-m pip install" ] || exec ${PYTHON} "$@"
while [ "$1" != --target ]; do shift; done
mkdir -p "$2" && echo one > "$2/one"
echo run >> "$PIP_TEST_FOLDER/runs"
case "$PIP_TEST" in
  fail) echo "no space left on the moon" >&2; exit 3 ;;
  hang) echo $$ > "$PIP_TEST_FOLDER/pid"; exec sleep 60 ;;
esac
sleep 0.2
echo two > "$2/two"
`;

describe('installWithPip', () => {
  const folder = useTemporaryFolder();
  const target = () => path.join(folder(), 'cache', 'thing-1.0');
  const runs = () => fs.readFileSync(path.join(folder(), 'runs'), 'utf8').split('\n').length - 1;
  const installation = (requirement = 'thing==1.0') => ({
    requirements: [requirement],
    folder: target(),
    title: 'installing a thing',
    usually: 'a moment',
    isWhole: () => fs.existsSync(path.join(target(), 'two')),
  });

  beforeEach(() => {
    fs.mkdirSync(path.join(folder(), 'bin'));
    fs.writeFileSync(path.join(folder(), 'bin', 'python3'), FAKE_PYTHON, { mode: 0o755 });
  });
  useEnvironment(() => ({
    PATH: `${folder()}/bin:${process.env.PATH}`,
    PIP_TEST: undefined,
    PIP_TEST_FOLDER: folder(),
  }));

  /** What is in the cache besides the lock file. */
  const inCache = () => fs.readdirSync(path.dirname(target())).filter((name) => !name.endsWith('.lock'));

  it('installs once, and leaves nothing else behind', async () => {
    await installWithPip(installation());
    await installWithPip(installation());
    expect(runs()).to.equal(1);
    expect(fs.readdirSync(target()).sort()).to.deep.equal(['one', 'two']);
    expect(inCache()).to.deep.equal(['thing-1.0']);
  });

  it('installs once when several processes want it at the same time', async () => {
    await Promise.all([1, 2, 3].map(() => installWithPip(installation())));
    expect(runs()).to.equal(1);
  });

  it('replaces a damaged installation', async () => {
    fs.mkdirSync(target(), { recursive: true });
    fs.writeFileSync(path.join(target(), 'old'), '');
    await installWithPip(installation());
    expect(fs.readdirSync(target()).sort()).to.deep.equal(['one', 'two']);
  });

  it("fails with pip's words and leaves nothing", async () => {
    process.env.PIP_TEST = 'fail';
    const error = await installWithPip(installation()).catch((thrown) => thrown);
    expect(error).to.be.instanceOf(TftrtError).with.property('code', 'TFTRT_SETUP_PIP');
    expect(error.message).to.contain('exit code 3').and.contain('thing==1.0').and.contain('free space');
    if (!process.stderr.isTTY) expect(error.message).to.contain('no space left on the moon');
    expect(inCache()).to.deep.equal([]);
  });

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    it(`takes nothing half-done for whole after ${signal}`, async () => {
      process.env.PIP_TEST = 'hang';
      const code = `require('#src/setup/pip').installWithPip({
        requirements: ['thing==1.0'], folder: process.argv[1], title: 't', usually: 'u', isWhole: () => false })`;
      const installer = spawn(process.execPath, ['-e', code, target()], { stdio: 'ignore' });
      const pidFile = path.join(folder(), 'pid');
      while (!fs.existsSync(pidFile) || fs.readFileSync(pidFile, 'utf8') === '') await sleep(10);
      installer.kill(signal);
      await once(installer, 'close');
      const pip = Number(fs.readFileSync(pidFile, 'utf8'));
      // Only a signal that cannot be handled leaves pip running.
      if (signal === 'SIGKILL') process.kill(pip);
      else await ended(pip);
      expect(fs.existsSync(target())).to.equal(false);

      delete process.env.PIP_TEST;
      await installWithPip(installation());
      expect(fs.readdirSync(target()).sort()).to.deep.equal(['one', 'two']);
      expect(inCache()).to.deep.equal(['thing-1.0']);
    });
  }
});

/** Waits until there is no such process; the test's time limit ends a wait in vain. */
async function ended(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await sleep(20);
  }
}

describe('ensureTensorFlow', () => {
  const folder = useTemporaryFolder();
  // Without a PATH nothing can be installed.
  useEnvironment(() => ({
    PATH: '',
    TFTRT_CACHE_DIR: folder(),
    TFTRT_TENSORFLOW: path.join(folder(), 'mine'),
  }));

  it('uses the installation that TFTRT_TENSORFLOW names, and installs nothing', async () => {
    fakeTensorFlow(path.join(folder(), 'mine'));
    expect(await ensureTensorFlow()).to.have.property('home', path.join(folder(), 'mine'));
    expect(fs.readdirSync(folder())).to.deep.equal(['mine']);
  });

  it('refuses an incomplete one instead of installing another', async () => {
    const error = await ensureTensorFlow().catch((thrown) => thrown);
    expect(error).to.be.instanceOf(TftrtError).with.property('code', 'TFTRT_TENSORFLOW_MISSING');
    expect(fs.readdirSync(folder())).to.deep.equal([]);
  });
});
