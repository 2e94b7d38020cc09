import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { CUDA_LIBRARIES, TENSORRT_LIBRARIES, TENSORRT_NAMES } from '#src/setup/gpu_libraries';
import { layOut } from '#src/setup/lay_out';
import { locateTensorFlow, packageRoot } from '#src/setup/paths';
import {
  expectTftrtError,
  fakeTensorFlow,
  useEnvironment,
  useTemporaryFolder,
  writeFile,
  writeLibrary,
} from './helpers';

describe('layOut', () => {
  const folder = useTemporaryFolder();
  const source = (...names: string[]) => path.join(folder(), 'pack', ...names);
  const home = (...names: string[]) => path.join(folder(), 'cache', 'tensorflow-2.17.1', ...names);
  const link = (...names: string[]) => fs.readlinkSync(home(...names));
  useEnvironment(() => ({ TFTRT_CACHE_DIR: path.join(folder(), 'cache'), TFTRT_TENSORFLOW: undefined }));

  const write = (files: readonly { file: string }[]) => {
    for (const { file } of files) writeLibrary(source(file));
  };

  it('links a flat folder, TensorFlow with it', () => {
    write([...CUDA_LIBRARIES, ...TENSORRT_LIBRARIES, { file: 'libtensorflow_cc.so.2' }]);
    write([{ file: 'libtensorflow_framework.so.2' }, { file: 'libcupti.so.12' }]);
    layOut(source());
    for (const { file, folder: place } of [...CUDA_LIBRARIES, ...TENSORRT_LIBRARIES]) {
      expect(link(place, file)).to.equal(source(file));
    }
    expect(link('tensorflow/libtensorflow_cc.so.2')).to.equal(source('libtensorflow_cc.so.2'));
    expect(link('nvidia/cuda_cupti/lib/libcupti.so.12')).to.equal(source('libcupti.so.12'));
    expect(link('tensorrt/libnvinfer.so.8.6.1')).to.equal('libnvinfer.so.8');
    expect(link('tensorrt/libnvinfer_plugin.so.8.6.1')).to.equal('libnvinfer_plugin.so.8');
    expect(fs.existsSync(home('tensorrt', TENSORRT_NAMES))).to.equal(true);
    expect(fs.readdirSync(home()).sort()).to.deep.equal(['nvidia', 'tensorflow', 'tensorrt']);
  });

  it('links a site-packages folder, without TensorRT where it has none', () => {
    for (const { file, folder: place } of CUDA_LIBRARIES) writeLibrary(source(place, file));
    layOut(source());
    expect(link('nvidia/cudnn/lib/libcudnn.so.8')).to.equal(source('nvidia/cudnn/lib/libcudnn.so.8'));
    expect(fs.readdirSync(home())).to.deep.equal(['nvidia']);
  });

  it('links TensorFlow alone, with its headers and what pip says about it', () => {
    fakeTensorFlow(source());
    writeFile(source('tensorflow-2.17.1.dist-info/METADATA'), 'Name: tensorflow');
    layOut(source());
    expect(locateTensorFlow('build')).to.include({ home: home(), version: '2.17.1' });
    expect(link('tensorflow/libtensorflow_cc.so.2')).to.equal(source('tensorflow/libtensorflow_cc.so.2'));
    expect(fs.existsSync(home('tensorflow-2.17.1.dist-info/METADATA'))).to.equal(true);
    expect(fs.readdirSync(home()).sort()).to.deep.equal(['tensorflow', 'tensorflow-2.17.1.dist-info']);
  });

  it('refuses a TensorFlow of another version, and changes nothing then', () => {
    fakeTensorFlow(source(), '2.16.2');
    write(CUDA_LIBRARIES);
    const { message } = expectTftrtError('TFTRT_TENSORFLOW_VERSION', () => layOut(source()));
    expect(message).to.contain('has TensorFlow 2.16.2, but 2.17.1 is needed');
    expect(fs.existsSync(home())).to.equal(false);
  });

  it('refuses a damaged TensorFlow, and changes nothing then', () => {
    fakeTensorFlow(source());
    writeFile(source('tensorflow/libtensorflow_cc.so.2'));
    const { message } = expectTftrtError('TFTRT_TENSORFLOW_DAMAGED', () => layOut(source()));
    expect(message).to.contain(`unusable: ${source('tensorflow/libtensorflow_cc.so.2')} (it is empty)`);
    expect(fs.existsSync(home())).to.equal(false);
  });

  it('refuses a folder with TensorFlow and only some of the libraries for a GPU', () => {
    fakeTensorFlow(source());
    write(CUDA_LIBRARIES.slice(1));
    expectTftrtError('TFTRT_CUDA_MISSING', () => layOut(source(), true));
    expect(fs.existsSync(home())).to.equal(false);
  });

  it('takes TensorFlow out of such a folder where no GPU is', () => {
    fakeTensorFlow(source());
    write(CUDA_LIBRARIES.slice(1));
    layOut(source(), false);
    expect(fs.readdirSync(home())).to.deep.equal(['tensorflow']);
  });

  for (const wantsGpu of [true, false]) {
    it(`finds TensorFlow installed already, ${wantsGpu ? 'with' : 'without'} a GPU`, () => {
      fakeTensorFlow(source());
      layOut(source(), wantsGpu);
      const { ino } = fs.statSync(home('tensorflow'));
      layOut(source(), wantsGpu);
      expect(fs.statSync(home('tensorflow')).ino).to.equal(ino);
      expect(fs.readdirSync(home())).to.deep.equal(['tensorflow']);
    });

    it(`says first that a folder has no TensorFlow, ${wantsGpu ? 'with' : 'without'} a GPU`, () => {
      fs.mkdirSync(source());
      const { message } = expectTftrtError('TFTRT_TENSORFLOW_MISSING', () => layOut(source(), wantsGpu));
      expect(message.split('\n')[0])
        .to.contain(`${source()} has no TensorFlow 2.17.1 (`)
        .and.contain('tensorflow/libtensorflow_cc.so.2');
      expect(message.includes('CUDA')).to.equal(wantsGpu);
      expect(message.includes('--gpu')).to.equal(wantsGpu);
    });
  }

  it('leaves links that are there already', () => {
    write([...CUDA_LIBRARIES, ...TENSORRT_LIBRARIES]);
    layOut(source());
    const inodes = () => ['nvidia', 'tensorrt'].map((name) => fs.statSync(home(name)).ino);
    const before = inodes();
    layOut(source());
    expect(inodes()).to.deep.equal(before);
  });

  it('replaces a TensorFlow whose links lead nowhere', () => {
    fakeTensorFlow(source('old'));
    layOut(source('old'));
    fs.rmSync(source('old'), { recursive: true });
    fakeTensorFlow(source('new'));
    layOut(source('new'));
    expect(link('tensorflow/libtensorflow_cc.so.2')).to.equal(source('new/tensorflow/libtensorflow_cc.so.2'));
    expect(locateTensorFlow('build').version).to.equal('2.17.1');
  });

  it('names a folder that cannot be used', () => {
    writeFile(source('file'));
    fs.symlinkSync('loop', source('loop'));
    const said = (name: string) => expectTftrtError('TFTRT_INVALID_ARGUMENT', () => layOut(name)).message;
    expect(said(source('absent'))).to.contain(`${source('absent')}: there is no such folder`);
    expect(said(source('file', 'inside'))).to.contain('there is no such folder');
    expect(said(source('file'))).to.contain(`${source('file')}: that is a file`);
    expect(said(source('loop'))).to.contain(`${source('loop')}: it is a symbolic link that leads to itself`);
    expect(said('')).to.contain('empty name');
  });

  it('replaces what was there, and leaves a TensorFlow that set-up brought', () => {
    write([...CUDA_LIBRARIES, { file: 'libtensorflow_cc.so.2' }, { file: 'libtensorflow_framework.so.2' }]);
    writeFile(home('nvidia/old'));
    fakeTensorFlow(home());
    layOut(source());
    layOut(source());
    expect(fs.existsSync(home('nvidia/old'))).to.equal(false);
    expect(fs.lstatSync(home('tensorflow/libtensorflow_cc.so.2')).isSymbolicLink()).to.equal(false);
  });

  it('lists all that the folder lacks, and changes nothing then', () => {
    write(CUDA_LIBRARIES.slice(2));
    const { message } = expectTftrtError('TFTRT_CUDA_MISSING', () => layOut(source()));
    expect(message.match(/missing: .*/g)).to.deep.equal([
      `missing: ${source('nvidia/cuda_runtime/lib/libcudart.so.12')}`,
      `missing: ${source('nvidia/cublas/lib/libcublasLt.so.12')}`,
    ]);
    expect(fs.existsSync(home())).to.equal(false);
  });

  it('is a program of its own, which needs neither npm nor Python', () => {
    write(CUDA_LIBRARIES);
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [path.join(packageRoot, 'dist/setup/lay_out.js'), ...args], {
        encoding: 'utf8',
        env: { ...process.env, PATH: '' },
      });
    expect(run(source())).to.include({ status: 0, stdout: '' });
    expect(link('nvidia/cudnn/lib/libcudnn.so.8')).to.equal(source('libcudnn.so.8'));
    for (const args of [[], ['-x'], [source(), source()]]) {
      const { status, stderr } = run(...args);
      expect(status).to.equal(1);
      expect(stderr).to.contain('TFTRT_INVALID_ARGUMENT').and.contain('usage');
    }
    expect(run('--help')).to.include({ status: 0, stdout: 'usage: node dist/setup/lay_out.js FOLDER\n' });
    expect(run('/nope').stderr).to.contain('/nope: there is no such folder');
  });
});
