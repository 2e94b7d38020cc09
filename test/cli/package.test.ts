import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '#src/setup/paths';
import { useTemporaryFolder } from '../setup/helpers';

describe('the npm package', () => {
  const folder = useTemporaryFolder();

  it('has the command tftrt, ready to run', () => {
    const args = ['pack', '--json', '--ignore-scripts', `--pack-destination=${folder()}`];
    const [pack] = JSON.parse(
      execFileSync('npm', args, { cwd: packageRoot, encoding: 'utf8', stdio: 'pipe' }),
    );
    const files = pack.files.map((file: { path: string }) => file.path);
    const scripts = fs.readdirSync(path.join(packageRoot, 'dist/cli')).filter((name) => name.endsWith('.js'));
    expect(files).to.include.members(scripts.map((name) => `dist/cli/${name}`));

    execFileSync('tar', ['-xzf', path.join(folder(), pack.filename), '-C', folder()]);
    const { bin } = JSON.parse(fs.readFileSync(path.join(folder(), 'package/package.json'), 'utf8'));
    const command = path.join(folder(), 'package', bin.tftrt);
    expect(fs.readFileSync(command, 'utf8')).to.match(/^#!\/usr\/bin\/env node\n/);
    fs.accessSync(command, fs.constants.X_OK);
    expect(execFileSync(command, ['--help'], { encoding: 'utf8' })).to.contain('usage: tftrt COMMAND');
  });
});
