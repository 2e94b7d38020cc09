import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '#src/setup/paths';
import { useTemporaryFolder } from '../setup/helpers';

describe('the npm package', () => {
  const folder = useTemporaryFolder();

  /** Packs the package, unpacks it where no other package is, and returns the list of its files and the command. */
  function unpack(): { files: string[]; command: string } {
    const args = ['pack', '--json', '--ignore-scripts', `--pack-destination=${folder()}`];
    const [pack] = JSON.parse(
      execFileSync('npm', args, { cwd: packageRoot, encoding: 'utf8', stdio: 'pipe' }),
    );
    const files = pack.files.map((file: { path: string }) => file.path);
    execFileSync('tar', ['-xzf', path.join(folder(), pack.filename), '-C', folder()]);
    const { bin } = JSON.parse(fs.readFileSync(path.join(folder(), 'package/package.json'), 'utf8'));
    return { files, command: path.join(folder(), 'package', bin.tftrt) };
  }

  it('has the command tftrt, ready to run', () => {
    const { files, command } = unpack();
    const scripts = fs.readdirSync(path.join(packageRoot, 'dist/cli')).filter((name) => name.endsWith('.js'));
    expect(files).to.include.members(scripts.map((name) => `dist/cli/${name}`));
    expect(fs.readFileSync(command, 'utf8')).to.match(/^#!\/usr\/bin\/env node\n/);
    fs.accessSync(command, fs.constants.X_OK);
    expect(execFileSync(command, ['--help'], { encoding: 'utf8' })).to.contain('usage: tftrt COMMAND');
  });

  it('says what is missing where the packages it needs are not installed', () => {
    const { command } = unpack();
    const run = (name: string) => {
      const env = {
        ...process.env,
        TFTRT_ADDON_DIR: undefined,
        TFTRT_CACHE_DIR: path.join(folder(), 'cache'),
      };
      return spawnSync(command, [name], { encoding: 'utf8', env: { ...env, TFTRT_DEVICE: 'cpu' } });
    };
    const doctor = run('doctor');
    expect(doctor.status).to.equal(1);
    expect(doctor.stdout)
      .to.match(/^addon +missing/m)
      .and.contain("Cannot find module '@tensorflow/tfjs-core'");
    const install = run('install');
    expect(install.status).to.equal(1);
    expect(install.stderr).to.contain('TFTRT_SETUP_BUILD').and.contain('cmake-js and node-addon-api');
    expect(fs.existsSync(path.join(folder(), 'cache'))).to.equal(false);
  });
});
