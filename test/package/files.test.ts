import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { ADDON_FILES } from '#src/setup/addon';
import { packageRoot } from '#src/setup/paths';
import { useTemporaryFolder } from '../setup/helpers';
import { type Pack, pack } from './pack';

describe('the npm package', () => {
  const folder = useTemporaryFolder();
  const inside = (...names: string[]) => path.join(folder(), 'package', ...names);

  /** Packs the package and unpacks it where no other package is. */
  function unpack(): Pack {
    const packed = pack(folder());
    execFileSync('tar', ['-xzf', packed.file, '-C', folder()]);
    return packed;
  }

  const manifest = () => JSON.parse(fs.readFileSync(inside('package.json'), 'utf8'));

  it('has the command tftrt, ready to run', () => {
    const { files } = unpack();
    const scripts = fs.readdirSync(path.join(packageRoot, 'dist/cli')).filter((name) => name.endsWith('.js'));
    expect(files).to.include.members(scripts.map((name) => `dist/cli/${name}`));
    const command = inside(manifest().bin.tftrt);
    expect(fs.readFileSync(command, 'utf8')).to.match(/^#!\/usr\/bin\/env node\n/);
    fs.accessSync(command, fs.constants.X_OK);
    expect(execFileSync(command, ['--help'], { encoding: 'utf8' })).to.contain('usage: tftrt COMMAND');
  });

  it('has the addon that was compiled here, and what compiles it elsewhere', () => {
    const { files, bytes } = unpack();
    for (const file of ADDON_FILES.map((name) => `build/Release/${name}`)) {
      expect(files).to.include(file);
      expect(
        fs.readFileSync(inside(file)).equals(fs.readFileSync(path.join(packageRoot, file))),
        file,
      ).to.equal(true);
    }
    expect(files.filter((file) => file.startsWith('build/'))).to.have.length(ADDON_FILES.length);
    const sources = fs.readdirSync(path.join(packageRoot, 'native')).map((name) => `native/${name}`);
    expect(files).to.include.members(['CMakeLists.txt', 'cmake/FindTensorFlow.cmake', ...sources]);
    expect(bytes).to.be.below(2e6);
  });

  it('runs nothing when it is installed, and depends on nothing', () => {
    unpack();
    const { scripts, dependencies, optionalDependencies, ...rest } = manifest();
    expect(Object.keys(scripts).filter((name) => /install|prepare/.test(name))).to.deep.equal([]);
    expect([dependencies, optionalDependencies]).to.deep.equal([undefined, undefined]);
    expect(rest).to.deep.include({ os: ['linux'], cpu: ['x64'], libc: ['glibc'] });
  });

  it('says what is missing where neither its addon nor the packages it needs are installed', () => {
    unpack();
    fs.rmSync(inside('build'), { recursive: true });
    const run = (name: string) => {
      const env = {
        ...process.env,
        TFTRT_ADDON_DIR: undefined,
        TFTRT_CACHE_DIR: path.join(folder(), 'cache'),
      };
      const command = inside(manifest().bin.tftrt);
      return spawnSync(command, [name], { encoding: 'utf8', env: { ...env, TFTRT_DEVICE: 'cpu' } });
    };
    const doctor = run('doctor');
    expect(doctor.status).to.equal(1);
    expect(doctor.stdout)
      .to.match(/^addon +missing/m)
      .and.contain("Cannot find module '@tensorflow/tfjs-core'");
    const install = run('install');
    expect(install.status).to.equal(1);
    expect(install.stderr)
      .to.contain('TFTRT_SETUP_BUILD')
      .and.contain(inside('build/Release'))
      .and.contain('npm install --no-save cmake-js node-addon-api');
    expect(fs.existsSync(path.join(folder(), 'cache'))).to.equal(false);
  });
});
