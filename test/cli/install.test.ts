import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { CUDA_LIBRARIES, TENSORRT_LIBRARIES, TENSORRT_NAMES } from '#src/setup/gpu_libraries';
import { locateTensorFlow, packageRoot } from '#src/setup/paths';
import { fakeRegistries, METADATA, PYTHON } from '../setup/fake_registries';
import { cutOff, fakeTensorFlow, useTemporaryFolder, writeFile } from '../setup/helpers';
import { linkTensorFlow } from './link_tensorflow';
import { tftrt } from './run_cli';

/** A process that has ended may be on the system's list until its parent looks. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** With a pip and a Maven that copy what lies in a folder. TensorFlow's wheel there is links to the real one. */
describe('tftrt install', () => {
  const folder = useTemporaryFolder();
  const inside = (...names: string[]) => path.join(folder(), ...names);
  const home = (...names: string[]) => inside('cache/tensorflow-2.17.1', ...names);
  const env = () => ({
    TFTRT_CACHE_DIR: inside('cache'),
    TFTRT_TENSORFLOW: undefined,
    TFTRT_DEVICE: 'cpu',
    PATH: `${inside('bin')}:${process.env.PATH}`,
    FAKE: folder(),
  });
  const install = (...args: string[]) => tftrt(['install', ...args], env());
  const log = () =>
    fs.existsSync(inside('log')) ? fs.readFileSync(inside('log'), 'utf8').trim().split('\n') : [];

  beforeEach(() => {
    fakeRegistries(folder());
    linkTensorFlow(inside('wheels/tensorflow'));
    writeFile(inside('wheels/tensorflow-2.17.1.dist-info/METADATA'), METADATA);
  });

  it('fetches TensorFlow once, and the backend runs', async () => {
    expect((await tftrt(['doctor'], env())).code).to.equal(1);
    const { code, stdout, stderr } = await install();
    expect(code, stderr).to.equal(0);
    expect(stdout).to.equal('');
    expect(stderr).to.contain(`installing TensorFlow 2.17.1 into ${home()}`).and.contain('npx tftrt doctor');
    expect(log()).to.have.length(1);
    expect(log()[0]).to.contain('tensorflow==2.17.1').and.contain('--target');
    expect((await tftrt(['doctor'], env())).code).to.equal(0);
    await install();
    expect(log()).to.have.length(1);
  });

  it('fetches anew a TensorFlow that is cut off', async () => {
    await install();
    const file = home('tensorflow/libtensorflow_framework.so.2');
    fs.rmSync(file);
    cutOff(locateTensorFlow().libraries.framework, file, 5000);
    expect((await install()).code).to.equal(0);
    expect(log()).to.have.length(2);
    expect((await tftrt(['doctor'], env())).code).to.equal(0);
  });

  it('fetches CUDA and TensorRT too with --gpu', async () => {
    // The copying pip copies everything: its first run must not bring CUDA already.
    fs.renameSync(inside('wheels/nvidia'), inside('nvidia'));
    await install();
    fs.renameSync(inside('nvidia'), inside('wheels/nvidia'));
    const { code, stderr } = await install('--gpu');
    expect(code, stderr).to.equal(0);
    for (const { folder: place, file } of [...CUDA_LIBRARIES, ...TENSORRT_LIBRARIES]) {
      expect(fs.existsSync(home(place, file)), file).to.equal(true);
    }
    expect(fs.existsSync(home('tensorrt', TENSORRT_NAMES))).to.equal(true);
    expect(log().map((line) => line.split(' ')[0])).to.deep.equal(['pip', 'pip', 'mvn']);
    expect(log()[1]).to.contain('nvidia-cudnn-cu12==8.9.7.29');
  });

  it('leaves nothing of an attempt that failed, and says why', async () => {
    const python = `#!/bin/sh
      [ "$1 $2 $3" = "-m pip install" ] || exec ${PYTHON} "$@"
      echo "no space left on the moon" >&2
      exit 3`;
    fs.writeFileSync(inside('bin/python3'), python);
    const { code, stdout, stderr } = await install();
    expect(code).to.equal(1);
    expect(stdout).to.equal('');
    expect(stderr).to.contain('failed (TFTRT_SETUP_PIP)').and.contain('no space left on the moon');
    expect(stderr).to.contain('python3 -m pip config list');
    expect(fs.readdirSync(inside('cache')).filter((name) => !name.endsWith('.lock'))).to.deep.equal([]);
  });

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    it(`ends pip and what it started on ${signal}, and leaves nothing`, async () => {
      // As pip runs git, for one.
      const python = `#!/bin/sh
        [ "$1 $2 $3" = "-m pip install" ] || exec ${PYTHON} "$@"
        sleep 60 &
        echo "$! $$" > "$FAKE/pids.new"; mv "$FAKE/pids.new" "$FAKE/pids"
        wait`;
      fs.writeFileSync(inside('bin/python3'), python);
      const main = path.join(packageRoot, 'dist/cli/main.js');
      const child = spawn(process.execPath, [main, 'install'], {
        env: { ...process.env, ...env(), TFTRT_TENSORFLOW: '' },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let stderr = '';
      child.stderr.on('data', (data) => {
        stderr += data;
      });
      while (!fs.existsSync(inside('pids'))) await sleep(20);
      child.kill(signal);
      const [code] = await once(child, 'close');
      expect(code, stderr).to.equal(signal === 'SIGINT' ? 130 : 143);
      expect(stderr).to.contain(`Interrupted (${signal})`).and.not.contain('network');
      expect(fs.readdirSync(inside('cache')).filter((name) => !name.endsWith('.lock'))).to.deep.equal([]);
      const [inner, pip] = fs.readFileSync(inside('pids'), 'utf8').trim().split(' ').map(Number);
      expect(isRunning(pip!)).to.equal(false);
      expect(isRunning(inner!)).to.equal(false);
    });
  }

  it('takes a site-packages folder that is there with --from, and fetches nothing', async () => {
    const { code, stderr } = await install('--from', inside('wheels'));
    expect(code, stderr).to.equal(0);
    expect(log()).to.deep.equal([]);
    expect(fs.realpathSync(home('nvidia/cudnn/lib/libcudnn.so.8'))).to.equal(
      inside('wheels/nvidia/cudnn/lib/libcudnn.so.8'),
    );
    expect((await tftrt(['doctor'], env())).code).to.equal(0);
  });

  it('takes TensorFlow alone', async () => {
    fs.rmSync(inside('wheels/nvidia'), { recursive: true });
    const { code, stderr } = await install('--from', inside('wheels'));
    expect(code, stderr).to.equal(0);
    expect(stderr)
      .to.contain(`linked ${home('tensorflow')}`)
      .and.contain('no libraries for a GPU');
    expect(log()).to.deep.equal([]);
    expect((await tftrt(['doctor'], env())).code).to.equal(0);
  });

  it('finds that installed already, also where pip brought it or several run at the same time', async () => {
    fs.rmSync(inside('wheels/nvidia'), { recursive: true });
    const from = () => install('--from', inside('wheels'));
    for (const { code, stderr } of await Promise.all([from(), from(), from()])) {
      expect(code, stderr).to.equal(0);
    }
    expect(log()).to.deep.equal([]);
    const again = await from();
    expect(again.code, again.stderr).to.equal(0);
    expect(again.stderr).to.contain('is installed already');
    fs.rmSync(inside('cache'), { recursive: true });
    await install();
    expect(await from()).to.include({ code: 0 });
  });

  it('keeps the libraries of a folder without TensorFlow, which is fetched', async () => {
    fs.rmSync(home(), { recursive: true, force: true });
    fs.renameSync(inside('wheels/nvidia'), inside('nvidia'));
    fs.mkdirSync(inside('pack'));
    fs.renameSync(inside('nvidia'), inside('pack/nvidia'));
    const { code, stderr } = await install('--from', inside('pack'));
    expect(code, stderr).to.equal(0);
    expect(log()).to.have.length(1);
    expect(fs.existsSync(home('nvidia/cudnn/lib/libcudnn.so.8'))).to.equal(true);
  });

  it('refuses a folder without libraries, and a TensorFlow of another version', async () => {
    fs.mkdirSync(inside('empty'));
    const empty = await install('--from', inside('empty'));
    expect(empty.code).to.equal(1);
    expect(empty.stderr)
      .to.contain('TFTRT_TENSORFLOW_MISSING')
      .and.contain(`${inside('empty')} has no TensorFlow 2.17.1`)
      .and.not.contain('CUDA');
    fakeTensorFlow(inside('old'), '2.9.1');
    const old = await install('--from', inside('old'));
    expect(old.code).to.equal(1);
    expect(old.stderr).to.contain('TFTRT_TENSORFLOW_VERSION').and.contain('2.9.1');
    expect(fs.existsSync(home())).to.equal(false);
  });
});
