import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '#src/setup/paths';
import { useTemporaryFolder } from './helpers';

describe('scripts/bootstrap.mjs', () => {
  const folder = useTemporaryFolder();
  const bootstrap = (env: NodeJS.ProcessEnv = {}, ...args: string[]) =>
    spawnSync(process.execPath, [path.join(packageRoot, 'scripts/bootstrap.mjs'), ...args], {
      encoding: 'utf8',
      env: { ...process.env, ...env },
    });

  it('does nothing, quickly, when all is there', () => {
    const start = performance.now();
    expect(bootstrap()).to.include({ status: 0, stdout: '', stderr: '' });
    expect(performance.now() - start).to.be.below(5000);
  });

  it('names all that the machine lacks in one error', () => {
    const { status, stderr } = bootstrap({ PATH: folder() });
    expect(status).to.equal(1);
    expect(stderr.match(/^ {2}- .*$/gm)).to.deep.equal([
      '  - Python 3 with pip (python3)',
      '  - a C++ compiler (g++)',
      '  - CMake (cmake)',
      '  - make or ninja',
    ]);
    expect(stderr).to.contain('apt-get install python3 python3-pip g++ cmake make\n');
  });

  it('prints its usage, and refuses what it does not take', () => {
    const { status, stdout } = bootstrap({ PATH: folder() }, '--help');
    expect(status).to.equal(0);
    expect(stdout).to.contain('usage: npm run setup [-- --gpu | --from FOLDER]');
    for (const [args, said] of [
      [['--from', '/nope'], '/nope: there is no such folder'],
      [['--from', '/tmp', '--from', '/etc'], '--from is there 2 times'],
      [['-x'], 'usage: npm run setup'],
    ] as const) {
      const { status, stderr } = bootstrap({}, ...args);
      expect(status).to.equal(1);
      expect(stderr).to.contain('TFTRT_INVALID_ARGUMENT').and.contain(said);
    }
  });
});
