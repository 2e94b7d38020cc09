import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { CUDA_LIBRARIES, TENSORRT_LIBRARIES, TENSORRT_NAMES } from '#src/setup/gpu_libraries';
import { layOut } from '#src/setup/lay_out';
import { makeCudnn, makeDriver, makeGpuLibraries, makeLibrary, makeTensorRt } from './fake_libraries';
import { useEnvironment, useTemporaryFolder, writeFile, writeLibrary } from './helpers';

/** Libraries stay loaded to the end of their process: each test has a process of its own. */
describe('loading CUDA and TensorRT', () => {
  const folder = useTemporaryFolder();
  const inside = (...names: string[]) => path.join(folder(), ...names);
  const home = (...names: string[]) => inside('cache/tensorflow-2.17.1', ...names);
  // Nothing but the driver is where the dynamic linker looks.
  useEnvironment(() => ({
    TFTRT_CACHE_DIR: inside('cache'),
    TFTRT_TENSORFLOW: undefined,
    LD_LIBRARY_PATH: inside('driver'),
  }));

  let made: string;
  before(() => {
    made = fs.mkdtempSync(path.join(os.tmpdir(), 'tftrt-test-'));
    makeGpuLibraries(made);
  });
  after(() => fs.rmSync(made, { recursive: true }));
  beforeEach(() => {
    fs.cpSync(made, inside('pack'), { recursive: true });
    makeDriver(inside('driver'), 12030);
  });

  /** Runs code in a new process; returns what it logs as JSON, or the error. */
  function run(code: string): { code?: string; message?: string; result?: unknown } {
    const program = `
      const { addonFile } = require('#src/setup/paths');
      const loader = require(addonFile('tftrt_loader'));
      const { loadCuda, loadTensorRt } = require('#src/setup/load_gpu_libraries');
      let outcome;
      try {
        outcome = { result: (() => { ${code} })() };
      } catch ({ code, message }) {
        outcome = { code, message };
      }
      console.log(JSON.stringify(outcome));`;
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
    expect(stdout, stderr).to.match(/^\{.*\}\n$/);
    return JSON.parse(stdout);
  }

  const complaints = (files: string[]) => `return ${JSON.stringify(files)}.map((file) => loader.open(file));`;

  it('makes all libraries known by name, without a search path', () => {
    layOut(inside('pack'));
    const names = [...CUDA_LIBRARIES, ...TENSORRT_LIBRARIES].map(({ alias, file }) => alias ?? file);
    const before = run(complaints(names)).result as unknown[];
    expect(before.every((complaint) => complaint !== null)).to.equal(true);
    const { result } = run(`loadCuda(loader); loadTensorRt(loader); ${complaints(names)}`);
    expect(result).to.deep.equal(names.map(() => null));
  });

  it('lists every missing library of CUDA in one error', () => {
    layOut(inside('pack'));
    fs.rmSync(home('nvidia/cufft'), { recursive: true });
    fs.rmSync(home('nvidia/cudnn/lib/libcudnn_cnn_infer.so.8'));
    writeFile(home('nvidia/cudnn/lib/libcudnn.so.9'));
    fs.rmSync(home('nvidia/cudnn/lib/libcudnn.so.8'));
    const { code, message } = run('loadCuda(loader)');
    expect(code).to.equal('TFTRT_CUDA_MISSING');
    expect(message!.match(/missing: .*/g)).to.deep.equal([
      `missing: ${home('nvidia/cufft/lib/libcufft.so.11')}`,
      `missing: ${home('nvidia/cudnn/lib/libcudnn.so.8')}`,
      `missing: ${home('nvidia/cudnn/lib/libcudnn_cnn_infer.so.8')}`,
    ]);
    expect(message).to.contain(`wrong version: ${home('nvidia/cudnn/lib/libcudnn.so.9')}`);
    expect(message).to.contain('npx tftrt install --gpu').and.contain('TFTRT_DEVICE=cpu');
  });

  it('says that there is no driver, and in the same error which libraries are missing', () => {
    writeFile(inside('driver/libcuda.so.1'), 'not a driver');
    const { code, message } = run('loadCuda(loader)');
    expect(code).to.equal('TFTRT_GPU_UNAVAILABLE');
    expect(message).to.contain("NVIDIA's driver is not there").and.contain('525');
    expect(message!.match(/missing: /g)).to.have.length(CUDA_LIBRARIES.length);
  });

  it('refuses a driver that is too old', () => {
    layOut(inside('pack'));
    makeDriver(inside('driver'), 11040);
    const { code, message } = run('loadCuda(loader)');
    expect(code).to.equal('TFTRT_GPU_UNAVAILABLE');
    expect(message).to.contain('CUDA 11.4').and.not.contain('missing');
  });

  it('refuses a cuDNN and a TensorRT that only say their version when asked', () => {
    makeCudnn(inside('pack'), 8600);
    makeTensorRt(inside('pack'), 8503);
    layOut(inside('pack'));
    const cuda = run('loadCuda(loader)');
    expect(cuda.code).to.equal('TFTRT_CUDA_VERSION');
    expect(cuda.message).to.contain('is cuDNN 8600, but 8.9 is needed');
    const tensorRt = run('loadTensorRt(loader)');
    expect(tensorRt.code).to.equal('TFTRT_TENSORRT_VERSION');
    expect(tensorRt.message).to.contain('is TensorRT 8503, but 8.6.1');
  });

  it('says which library is damaged', () => {
    layOut(inside('pack'));
    fs.rmSync(home('nvidia/cusparse/lib/libcusparse.so.12'));
    writeFile(home('nvidia/cusparse/lib/libcusparse.so.12'), 'x');
    const { code, message } = run('loadCuda(loader)');
    expect(code).to.equal('TFTRT_CUDA_MISSING');
    expect(message!.match(/(unusable|missing): .*/g)).to.deep.equal([
      `unusable: ${home('nvidia/cusparse/lib/libcusparse.so.12')} (it is no shared library for x86-64)`,
    ]);
  });

  it('says which library cannot be opened', () => {
    layOut(inside('pack'));
    fs.rmSync(home('nvidia/cusparse/lib/libcusparse.so.12'));
    writeLibrary(home('nvidia/cusparse/lib/libcusparse.so.12'));
    const { code, message } = run('loadCuda(loader)');
    expect(code).to.equal('TFTRT_CUDA_LOAD');
    expect(message).to.contain(`${home('nvidia/cusparse/lib/libcusparse.so.12')} cannot be loaded: `);
  });

  it('does without TensorRT until it is asked for, then lists all that is missing', () => {
    for (const { file } of TENSORRT_LIBRARIES) fs.rmSync(inside('pack', file));
    layOut(inside('pack'));
    const { code, message } = run('loadCuda(loader); loadTensorRt(loader)');
    expect(code).to.equal('TFTRT_TENSORRT_MISSING');
    expect(message!.match(/missing: .*/g)).to.deep.equal(
      TENSORRT_LIBRARIES.map(({ file }) => `missing: ${home('tensorrt', file)}`),
    );
  });

  it('refuses a TensorRT that would not find its own builder resource', () => {
    layOut(inside('pack'));
    fs.rmSync(home('tensorrt', TENSORRT_NAMES));
    const { code, message } = run('loadTensorRt(loader)');
    expect(code).to.equal('TFTRT_TENSORRT_LOAD');
    expect(message).to.contain(`npx tftrt install --from ${home('tensorrt')}`);
  });

  it('uses libraries beside an installed TensorFlow', () => {
    layOut(inside('pack'));
    fs.renameSync(home(), inside('site-packages'));
    writeFile(inside('site-packages/tensorflow/libtensorflow_framework.so.2'));
    process.env.TFTRT_TENSORFLOW = inside('site-packages');
    expect(run('loadCuda(loader); loadTensorRt(loader); return 7')).to.deep.equal({ result: 7 });
  });

  it('uses libraries that the dynamic linker finds', () => {
    process.env.LD_LIBRARY_PATH = [inside('driver'), inside('pack')].join(':');
    makeLibrary(inside('pack/libnvinfer.so.8.6.1'));
    makeLibrary(inside('pack/libnvinfer_plugin.so.8.6.1'));
    expect(run('loadCuda(loader); loadTensorRt(loader); return 7')).to.deep.equal({ result: 7 });
  });
});
