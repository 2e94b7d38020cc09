import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import type { Diagnosis } from '#src/cli/check';
import { CUDA_LIBRARIES, findLibraries, searchPlaces, TENSORRT_LIBRARIES } from '#src/setup/gpu_libraries';
import { addonFile, packageRoot } from '#src/setup/paths';
import { runNode } from '../process/child';
import { makeDriver, makeGpuLibraries } from '../setup/fake_libraries';
import { linkTensorFlow } from './link_tensorflow';
import { tftrt } from './run_cli';

const USE_BACKEND = `
  const tf = require('@tensorflow/tfjs-core');
  require('tfjs-backend-tftrt');
  const work = () => tf.setBackend('tftrt').then(() => tf.matMul([[1]], [[1]]).dataSync());`;
/** What `build` begins with on a GPU. */
const LOAD_TENSORRT = `
  const { loadLibraryLoader } = require('#src/setup/load_addon');
  const { loadTensorRt } = require('#src/setup/load_gpu_libraries');
  const work = async () => loadTensorRt(loadLibraryLoader());`;

/** With each file that the backend loads hidden in turn: TensorFlow's own, the addon's, and stand-ins with the names of NVIDIA's. */
describe('with one library hidden', () => {
  const folder = path.join(fs.realpathSync(os.tmpdir()), `tftrt-test-hidden-${process.pid}`);
  const inside = (...names: string[]) => path.join(folder, ...names);
  const home = (...names: string[]) => inside('cache/tensorflow-2.17.1', ...names);
  const env = {
    TFTRT_CACHE_DIR: inside('cache'),
    TFTRT_TENSORFLOW: undefined,
    TFTRT_ADDON_DIR: inside('addon'),
    LD_LIBRARY_PATH: inside('driver'),
    CUDA_VISIBLE_DEVICES: '0',
  };

  before(() => {
    fs.cpSync(path.dirname(addonFile('tftrt')), inside('addon'), { recursive: true });
    linkTensorFlow(home('tensorflow'));
    makeGpuLibraries(inside('pack'));
    makeDriver(inside('driver'), 12030);
    const layOut = path.join(packageRoot, 'dist/setup/lay_out.js');
    execFileSync(process.execPath, [layOut, inside('pack')], {
      env: { ...process.env, ...env },
      stdio: 'pipe',
    });
  });
  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  interface Expected {
    /** The code of the exception. */
    readonly code: string;
    readonly device: 'cpu' | 'gpu';
    /** What throws. */
    readonly program?: string;
    /** The row of the doctor's. */
    readonly row: string;
    /** The command that brings the file. */
    readonly command: string;
  }

  /** Hides a file; expects an exception and the doctor to name it, and what to do. */
  function expectBoth(file: string, expected: Expected): void {
    const { code, device, program = USE_BACKEND, row: name, command } = expected;
    it(`names ${path.basename(file)}, and what brings it`, async () => {
      fs.renameSync(file, `${file}.hidden`);
      try {
        const variables = { ...env, TFTRT_DEVICE: device };
        const [thrown, doctor] = await Promise.all([
          exceptionOf(program, variables),
          tftrt(['doctor', '--json'], variables),
        ]);
        expect(thrown.code).to.equal(code);
        expect(thrown.message)
          .to.contain(file)
          .and.contain(`\`${command}\``)
          .and.contain('`npx tftrt doctor`');

        expect(doctor.code).to.equal(1);
        const { ok, checks, complaints }: Diagnosis = JSON.parse(doctor.stdout);
        expect(ok).to.equal(false);
        const row = checks.find((check) => check.name === name)!;
        expect(row.status).to.be.oneOf(['missing', 'wrong']);
        expect(row.problem).to.contain(file);
        expect(row.remedy).to.contain(`\`${command}\``);
        expect(complaints.map((complaint) => complaint.code)).to.include(code);
      } finally {
        fs.renameSync(`${file}.hidden`, file);
      }
    });
  }

  async function exceptionOf(
    program: string,
    variables: NodeJS.ProcessEnv,
  ): Promise<{ code?: string; message: string }> {
    const { stdout, stderr } = await runNode(
      `${program}
      work().then(
        () => console.log(JSON.stringify({ message: 'nothing was thrown' })),
        ({ code, message }) => console.log(JSON.stringify({ code, message })),
      );`,
      { env: variables },
    );
    return JSON.parse(stdout.trim().split('\n').at(-1) || JSON.stringify({ message: stderr }));
  }

  for (const { owner, row, code, files } of [
    {
      owner: "TensorFlow's",
      row: 'TensorFlow',
      code: 'TFTRT_TENSORFLOW_MISSING',
      files: [home('tensorflow/libtensorflow_cc.so.2'), home('tensorflow/libtensorflow_framework.so.2')],
    },
    {
      owner: "the addon's",
      row: 'addon',
      code: 'TFTRT_ADDON_LOAD',
      files: [inside('addon/tftrt.node'), inside('addon/tftrt_loader.node')],
    },
  ]) {
    describe(`of ${owner}`, () => {
      for (const file of files) expectBoth(file, { code, device: 'cpu', row, command: 'npx tftrt install' });
    });
  }

  describe("of NVIDIA's", () => {
    before(function () {
      // A machine may have CUDA where it is found whatever the environment says.
      const all = [...CUDA_LIBRARIES, ...TENSORRT_LIBRARIES];
      const elsewhere = {
        ...searchPlaces(),
        homes: [inside('empty')],
        folders: ['/usr/lib/x86_64-linux-gnu'],
      };
      if (findLibraries(all, elsewhere).found.size > 0) this.skip();
    });

    for (const library of CUDA_LIBRARIES) {
      expectBoth(home(library.folder, library.file), {
        code: 'TFTRT_CUDA_MISSING',
        device: 'gpu',
        row: library.file.startsWith('libcudnn') ? 'cuDNN' : library.file,
        command: 'npx tftrt install --gpu',
      });
    }
    for (const library of TENSORRT_LIBRARIES) {
      expectBoth(home(library.folder, library.file), {
        code: 'TFTRT_TENSORRT_MISSING',
        device: 'gpu',
        program: LOAD_TENSORRT,
        row: 'TensorRT',
        command: 'npx tftrt install --gpu',
      });
    }
  });
});
