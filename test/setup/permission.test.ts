import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { addonFile, packageRoot } from '#src/setup/paths';

/** The backend computes, or its error is printed; Node.js may say more on stderr. */
const SCRIPT = `
  const tf = require('@tensorflow/tfjs-core');
  const tftrt = require('tfjs-backend-tftrt');
  tf.setBackend('tftrt')
    .then(() => console.log(tf.add([1, 2], 3).dataSync().join()))
    .catch((error) => console.log(error instanceof tftrt.TftrtError, error.code, error.message));`;

/** Node.js 20 has the same under another name. */
const PERMISSION = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission'
  : '--experimental-permission';

describe('what Node.js forbids', () => {
  const run = (options: readonly string[], env: NodeJS.ProcessEnv = {}, script = ['-e', SCRIPT]) =>
    spawnSync(process.execPath, [...options, ...script], {
      cwd: packageRoot,
      encoding: 'utf8',
      env: { ...process.env, ...env },
    });

  it('says that addons are off with --no-addons', () => {
    const { stdout } = run(['--no-addons']);
    expect(stdout).to.match(/^true TFTRT_ADDONS_DISABLED /);
    expect(stdout).to.contain('Start node without --no-addons').and.not.contain('npx tftrt');
  });

  for (const command of ['install', 'doctor']) {
    it(`says so in \`tftrt ${command}\``, () => {
      const main = [path.join(packageRoot, 'dist/cli/main.js'), command];
      const { status, stdout, stderr } = run([], { NODE_OPTIONS: '--no-addons' }, main);
      expect(status).to.equal(1);
      expect(stdout + stderr).to.contain('Start node without --no-addons');
    });
  }

  it('says that addons are to be allowed with --permission', () => {
    const { stdout } = run([PERMISSION, '--allow-fs-read=*']);
    expect(stdout).to.match(/^true TFTRT_ADDONS_DISABLED /);
    expect(stdout).to.contain('Start node with --allow-addons');
  });

  it('says that `tftrt doctor` needs to start processes', () => {
    const main = [path.join(packageRoot, 'dist/cli/main.js'), 'doctor'];
    const { status, stderr } = run([PERMISSION, '--allow-addons', '--allow-fs-read=*'], {}, main);
    expect(status).to.equal(1);
    expect(stderr).to.contain('TFTRT_PERMISSION').and.contain('--allow-child-process');
  });

  it('names what this process may not read', () => {
    // All but what is TensorFlow's and the system's; Node.js takes no folder within another.
    const modules = fs.realpathSync(path.join(packageRoot, 'node_modules'));
    const others = [modules, path.dirname(addonFile('tftrt'))].filter(
      (folder) => !folder.startsWith(packageRoot + path.sep),
    );
    const folders = [packageRoot, ...others];
    const reads = folders.map((folder) => `--allow-fs-read=${folder}${path.sep}*`);
    const { stdout } = run([PERMISSION, '--allow-addons', ...reads], { TFTRT_DEVICE: undefined });
    expect(stdout).to.match(/^true TFTRT_PERMISSION /);
    expect(stdout).to.contain('does not allow this process to read /dev/nvidia0');
    expect(stdout).to.contain('Start node with --allow-fs-read=/dev/nvidia0 too');
    const { stdout: onCpu } = run([PERMISSION, '--allow-addons', ...reads], { TFTRT_DEVICE: 'cpu' });
    expect(onCpu).to.match(/^true TFTRT_PERMISSION /);
    expect(onCpu).to.match(/to read \S+libtensorflow_framework\.so\.2/);
  });

  it('computes where all is allowed', () => {
    const { stdout, stderr } = run([PERMISSION, '--allow-addons', '--allow-fs-read=*']);
    expect(stdout, stderr).to.equal('4,5\n');
  });
});
