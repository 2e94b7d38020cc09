import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import type { Check, Diagnosis } from '#src/cli/check';
import { ADDON_RECORD, neededAddon } from '#src/setup/addon_record';
import { CUDA_LIBRARIES, findLibraries, searchPlaces, TENSORRT_LIBRARIES } from '#src/setup/gpu_libraries';
import { addonFile, locateTensorFlow } from '#src/setup/paths';
import { runNode } from '../process/child';
import { makeDriver, makeGpuLibraries } from '../setup/fake_libraries';
import { cutOff, useTemporaryFolder, writeLibrary } from '../setup/helpers';
import { linkTensorFlow } from './link_tensorflow';
import { tftrt } from './run_cli';

/** What `--json` prints, checked for its form, and the exit code for its meaning. */
async function diagnose(env: Record<string, string | undefined>): Promise<Diagnosis> {
  const { code, stdout, stderr } = await tftrt(['doctor', '--json'], env);
  expect(stderr).to.equal('');
  const diagnosis: Diagnosis = JSON.parse(stdout);
  expect(diagnosis).to.have.all.keys('ok', 'checks', 'complaints');
  expect(code).to.equal(diagnosis.ok ? 0 : 1);
  for (const check of diagnosis.checks) {
    expect(check).to.include.all.keys('name', 'status');
    expect(check.status).to.be.oneOf(['ok', 'missing', 'wrong', 'not needed']);
    for (const [key, value] of Object.entries(check)) {
      expect(key).to.be.oneOf(['name', 'status', 'version', 'path', 'problem', 'remedy']);
      expect(value, `${check.name}: ${key}`).to.be.a('string').and.not.equal('');
    }
    const isBad = check.status === 'missing' || check.status === 'wrong';
    expect('problem' in check, check.name).to.equal(isBad);
  }
  for (const complaint of diagnosis.complaints) {
    expect(complaint).to.have.all.keys('code', 'problem', 'remedy');
  }
  return diagnosis;
}

const byName = ({ checks }: Diagnosis) => Object.fromEntries(checks.map((check) => [check.name, check]));
const statuses = ({ checks }: Diagnosis) => checks.map(({ name, status }) => `${name}: ${status}`);

const GPU_ROWS = ['NVIDIA driver', 'GPUs', 'CUDA libraries', 'cuDNN', 'TensorRT'];

describe('tftrt doctor', () => {
  const folder = useTemporaryFolder();
  const inside = (...names: string[]) => path.join(folder(), ...names);

  describe('on the CPU', () => {
    const cpu = { TFTRT_DEVICE: 'cpu' };

    it('finds everything, computes, and needs nothing of a GPU', async () => {
      const diagnosis = await diagnose(cpu);
      expect(diagnosis.ok).to.equal(true);
      expect(diagnosis.complaints).to.deep.equal([]);
      expect(statuses(diagnosis)).to.deep.equal([
        ...['Node.js', 'addon', 'TensorFlow'].map((name) => `${name}: ok`),
        ...GPU_ROWS.map((name) => `${name}: not needed`),
        'one op on cpu: ok',
      ]);
      const rows = byName(diagnosis);
      expect(rows['Node.js']).to.include({ version: process.versions.node, path: process.execPath });
      expect(rows.addon).to.include({ path: addonFile('tftrt') });
      expect(rows.TensorFlow).to.include({ version: '2.17.1', path: locateTensorFlow().directory });
      expect(rows['one op on cpu']!.path).to.match(/device:CPU:0$/);
    });

    it('prints a table without colours where there is no terminal', async () => {
      const { code, stdout } = await tftrt(['doctor'], cpu);
      expect(code).to.equal(0);
      expect(stdout).to.match(/^TensorFlow +ok +2\.17\.1 +\//m);
      expect(stdout).to.match(/\n\nAll is well\.\n$/);
      expect(stdout).to.not.contain('\u001b');
      const columns = stdout
        .split('\n\n')[0]!
        .split('\n')
        .map((line) => /(?<= {2})(ok|not needed)/.exec(line)!.index);
      expect(new Set(columns).size).to.equal(1);
    });

    it('says that TensorFlow is missing, and what to do, in the words of the exception', async () => {
      const env = { ...cpu, TFTRT_TENSORFLOW: folder() };
      const diagnosis = await diagnose(env);
      const rows = byName(diagnosis);
      expect(rows.TensorFlow).to.include({ status: 'missing' });
      expect(rows.TensorFlow!.problem).to.contain('libtensorflow_cc.so.2').and.contain('TFTRT_TENSORFLOW');
      expect(rows.TensorFlow!.remedy).to.contain('npx tftrt install');
      expect(rows['one op on cpu']).to.include({ status: 'missing', problem: rows.TensorFlow!.problem });
      expect(diagnosis.complaints.map(({ code }) => code)).to.deep.equal(['TFTRT_TENSORFLOW_MISSING']);

      const { stdout } = await tftrt(['doctor'], env);
      const thrown = await exceptionOfBackend(env);
      const hint = thrown.lastIndexOf('\n');
      expect(thrown.slice(hint)).to.contain('npx tftrt doctor');
      expect(stdout).to.contain(`\n\n${thrown.slice(0, hint)}\n\n`);
      expect(stdout.split('libtensorflow_cc.so.2')).to.have.length(2);
    });

    it('tells a library that is there and cannot be loaded', async () => {
      linkTensorFlow(inside('tensorflow'), 'libtensorflow_cc.so.2');
      writeLibrary(inside('tensorflow/libtensorflow_cc.so.2'));
      const diagnosis = await diagnose({ ...cpu, TFTRT_TENSORFLOW: folder() });
      const row = byName(diagnosis).TensorFlow!;
      expect(row.status).to.equal('wrong');
      expect(row.problem).to.contain('libtensorflow_cc.so.2 cannot be loaded: ');
    });

    it('tells a library that is cut off', async () => {
      linkTensorFlow(inside('tensorflow'), 'libtensorflow_cc.so.2');
      const file = inside('tensorflow/libtensorflow_cc.so.2');
      cutOff(locateTensorFlow().libraries.cc, file, 1e6);
      const diagnosis = await diagnose({ ...cpu, TFTRT_TENSORFLOW: folder() });
      const row = byName(diagnosis).TensorFlow!;
      expect(row.status).to.equal('wrong');
      expect(row.problem).to.match(
        /unusable: .*libtensorflow_cc\.so\.2 \(it is cut off: it has 1000000 bytes/,
      );
      expect(row.remedy).to.contain('npx tftrt install');
      expect(diagnosis.complaints.map(({ code }) => code)).to.deep.equal(['TFTRT_TENSORFLOW_DAMAGED']);
    });

    it('says that the addon is missing', async () => {
      const diagnosis = await diagnose({ ...cpu, TFTRT_ADDON_DIR: folder() });
      const row: Check = byName(diagnosis).addon!;
      expect(row).to.include({ status: 'missing', path: inside('tftrt_loader.node') });
      expect(row.remedy).to.contain('npx tftrt install');
      expect(diagnosis.complaints.map(({ code }) => code)).to.deep.equal(['TFTRT_ADDON_LOAD']);
    });

    it('says that the addon is of another version, or damaged', async () => {
      const addon = (record: object, loader?: string) => {
        fs.cpSync(path.dirname(addonFile('tftrt')), inside('addon'), { recursive: true, dereference: true });
        fs.writeFileSync(inside('addon', ADDON_RECORD), JSON.stringify(record));
        if (loader !== undefined) fs.writeFileSync(inside('addon/tftrt_loader.node'), loader);
        return { ...cpu, TFTRT_ADDON_DIR: inside('addon') };
      };
      const other = await diagnose(addon({ ...neededAddon(), tensorFlow: '2.9.1' }));
      expect(byName(other).addon).to.include({ status: 'wrong' });
      expect(byName(other).addon!.problem).to.match(/TensorFlow 2\.9\.1, .* TensorFlow 2\.17\.1 is needed/);
      expect(other.complaints.map(({ code }) => code)).to.deep.equal(['TFTRT_ADDON_VERSION']);

      const damaged = await diagnose(addon(neededAddon(), 'not a library'));
      expect(byName(damaged).addon).to.include({ status: 'wrong' });
      expect(byName(damaged).addon!.problem)
        .to.contain(inside('addon/tftrt_loader.node'))
        .and.contain('no shared library');
      expect(byName(damaged).addon!.remedy).to.contain('npx tftrt install');
    });

    it('survives when computing ends the process', async () => {
      const preload = inside('crash.js');
      fs.writeFileSync(
        preload,
        "if (/probe_device/.test(process.argv[1])) process.kill(process.pid, 'SIGSEGV');",
      );
      const row = byName(await diagnose({ ...cpu, NODE_OPTIONS: `--require=${preload}` }))['one op on cpu']!;
      expect(row).to.include({ status: 'wrong' });
      expect(row.problem).to.contain('SIGSEGV');
    });

    it('refuses a device that does not exist', async () => {
      const diagnosis = await diagnose({ TFTRT_DEVICE: 'tpu' });
      expect(byName(diagnosis).TFTRT_DEVICE!.problem).to.contain("'tpu'").and.contain("'gpu:N'");
    });
  });

  /** With libraries that have CUDA's names and a driver that only knows its version; there is no GPU to compute on. */
  describe('where a GPU is wanted', () => {
    let made: string;
    before(() => {
      made = fs.mkdtempSync(path.join(os.tmpdir(), 'tftrt-test-'));
      makeGpuLibraries(path.join(made, 'pack'));
      makeDriver(path.join(made, 'driver'), 12030);
    });
    after(() => fs.rmSync(made, { recursive: true }));

    /** A TensorFlow of links, so that nothing is found beside it. */
    const env = (libraries: string) => {
      linkTensorFlow(inside('home/tensorflow'));
      return {
        TFTRT_DEVICE: 'gpu',
        TFTRT_TENSORFLOW: inside('home'),
        TFTRT_CACHE_DIR: inside('cache'),
        LD_LIBRARY_PATH: [path.join(made, 'driver'), libraries].join(':'),
      };
    };

    const LIBRARIES = [
      'libcudart.so.12',
      'libcublasLt.so.12',
      'libcublas.so.12',
      'libcufft.so.11',
      'libnvJitLink.so.12',
      'libcusparse.so.12',
      'libcusolver.so.11',
      'cuDNN',
      'TensorRT',
    ];

    it('lists each library that is missing, with the command that brings it', async function () {
      const all = [...CUDA_LIBRARIES, ...TENSORRT_LIBRARIES];
      // A machine may have CUDA where it is found whatever the environment says.
      if (findLibraries(all, { ...searchPlaces(), homes: [folder()] }).found.size > 0) this.skip();
      const variables = env(folder());
      const diagnosis = await diagnose(variables);
      const rows = byName(diagnosis);
      for (const name of LIBRARIES) {
        expect(rows[name], name).to.include({ status: 'missing' });
        expect(rows[name]!.remedy).to.contain('npx tftrt install --gpu');
      }
      expect(rows['libcufft.so.11']!.path).to.equal(inside('home/nvidia/cufft/lib/libcufft.so.11'));
      expect(rows.cuDNN!.problem!.match(/missing: /g)).to.have.length(6);
      expect(rows['NVIDIA driver']).to.include({ status: 'ok', path: 'can do CUDA 12.3' });
      expect(diagnosis.complaints.map(({ code }) => code)).to.deep.equal([
        'TFTRT_CUDA_MISSING',
        'TFTRT_TENSORRT_MISSING',
      ]);
      const { stdout } = await tftrt(['doctor'], variables);
      const thrown = await exceptionOfBackend(variables);
      expect(stdout).to.contain(thrown.slice(0, thrown.lastIndexOf('\n')));
    });

    it('shows those that are there, with their versions', async () => {
      const rows = byName(await diagnose(env(path.join(made, 'pack'))));
      for (const name of LIBRARIES.slice(0, -1)) expect(rows[name], name).to.include({ status: 'ok' });
      expect(rows['libcufft.so.11']).to.include({ path: path.join(made, 'pack/libcufft.so.11') });
      expect(rows.cuDNN).to.include({ version: '8.9.7', path: path.join(made, 'pack') });
      // Its second names are not there: TensorFlow would not find it.
      expect(rows.TensorRT).to.include({ status: 'wrong' });
      expect(rows.TensorRT!.remedy).to.contain('npx tftrt install --from');
      expect(rows['one op on gpu:0']).to.include({ status: 'wrong' });
    });

    it('tells a damaged library and one of a wrong version', async () => {
      fs.cpSync(path.join(made, 'pack'), inside('pack'), { recursive: true });
      fs.writeFileSync(inside('pack/libcufft.so.11'), 'not a library');
      fs.rmSync(inside('pack/libcudnn.so.8'));
      fs.writeFileSync(inside('pack/libcudnn.so.9'), '');
      const rows = byName(await diagnose(env(inside('pack'))));
      expect(rows.cuDNN).to.include({ status: 'wrong' });
      expect(rows.cuDNN!.problem).to.contain(`wrong version: ${inside('pack/libcudnn.so.9')}`);
      fs.copyFileSync(path.join(made, 'pack/libcudnn.so.8'), inside('pack/libcudnn.so.8'));
      const again = byName(await diagnose(env(inside('pack'))));
      expect(again['libcufft.so.11']).to.include({ status: 'wrong' });
      expect(again['libcufft.so.11']!.problem).to.contain('no shared library');
      expect(again['libcusparse.so.12']).to.include({ status: 'ok' });
    });

    it('says that the driver is too old', async () => {
      makeDriver(inside('driver'), 11040);
      const variables = { ...env(path.join(made, 'pack')), LD_LIBRARY_PATH: inside('driver') };
      const rows = byName(await diagnose(variables));
      expect(rows['NVIDIA driver']).to.include({ status: 'wrong', path: 'can do CUDA 11.4' });
      expect(rows['NVIDIA driver']!.remedy).to.contain('525 or later');
    });
  });
});

/** What the first use of the backend throws. */
async function exceptionOfBackend(env: Record<string, string | undefined>): Promise<string> {
  const { stdout } = await runNode(
    `const tf = require('@tensorflow/tfjs-core');
    require('tfjs-backend-tftrt');
    tf.setBackend('tftrt')
      .then(() => tf.matMul([[1]], [[1]]).dataSync())
      .catch(({ message }) => console.log(JSON.stringify(message)));`,
    { env },
  );
  return JSON.parse(stdout.trim().split('\n').at(-1)!);
}
