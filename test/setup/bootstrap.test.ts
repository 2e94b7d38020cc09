import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '#src/setup/paths';
import { useTemporaryFolder } from './helpers';

describe('scripts/bootstrap.mjs', () => {
  const folder = useTemporaryFolder();
  const bootstrap = (env: NodeJS.ProcessEnv = {}) =>
    spawnSync(process.execPath, [path.join(packageRoot, 'scripts/bootstrap.mjs')], {
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
});
