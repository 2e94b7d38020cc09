import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import type { LibraryLoader } from '#src/setup/load_tensorflow';
import { addonFile, locateTensorFlow } from '#src/setup/paths';
import { fakeTensorFlow, useTemporaryFolder } from './helpers';

describe('tftrt_loader', () => {
  const loader: LibraryLoader = require(addonFile('tftrt_loader'));

  it("returns the dynamic linker's complaint", () => {
    expect(loader.open('/absent/lib.so')).to.contain('/absent/lib.so').and.contain('No such file');
  });

  it('refuses what is not a path', () => {
    for (const wrong of [undefined, 7, {}]) {
      expect(() => loader.open(wrong as unknown as string)).to.throw(TypeError, 'path must be a string');
      expect(() => loader.call('x', wrong as unknown as string)).to.throw(TypeError, 'both must be strings');
    }
  });

  it('calls functions of loaded libraries only', () => {
    expect(loader.call('libc.so.6', 'getpid')).to.equal(process.pid);
    expect(loader.call('libc.so.6', 'no_such_function')).to.equal(null);
    expect(loader.call('libabsent.so.1', 'getpid')).to.equal(null);
  });
});

/** A library stays loaded to the end of its process: each test has a process of its own. */
describe('loadTensorFlow', () => {
  const folder = useTemporaryFolder();

  interface Outcome {
    code?: string;
    message?: string;
    home?: string;
    version?: string | null;
  }

  /** Calls loadTensorFlow in a new process, after some other code; returns the outcome and what was written to stderr. */
  function load(env: NodeJS.ProcessEnv, before = ''): Outcome & { stderr: string } {
    const code = `
      const { addonFile } = require('#src/setup/paths');
      const loader = require(addonFile('tftrt_loader'));
      const load = () => require('#src/setup/load_tensorflow').loadTensorFlow(loader);
      let outcome;
      try {
        ${before}
        outcome = { home: load().home, version: loader.version() };
      } catch ({ code, message }) {
        outcome = { code, message };
      }
      console.log(JSON.stringify(outcome));`;
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', code], {
      encoding: 'utf8',
      env: { ...process.env, TF_CPP_MIN_LOG_LEVEL: undefined, ...env },
    });
    expect(stdout, stderr).to.match(/^\{.*\}\n$/);
    return { ...JSON.parse(stdout), stderr };
  }

  /** Makes a library that calls itself TensorFlow. */
  function makeLibrary(file: string, version: string): void {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    const source = `extern "C" const char* TF_Version() { return "${version}"; }`;
    const args = ['-shared', '-fPIC', '-x', 'c++', '-', `-Wl,-soname,${path.basename(file)}`, '-o', file];
    execFileSync('g++', args, { input: source, stdio: ['pipe', 'inherit', 'inherit'] });
  }

  it('loads it without a word, and again at no cost', () => {
    const outcome = load({}, 'load();');
    expect(outcome).to.deep.equal({ home: locateTensorFlow().home, version: '2.17.1', stderr: '' });
  });

  it('leaves the environment as it was', () => {
    const check = "load(); const shown = require('child_process').execSync('env', { encoding: 'utf8' });";
    const { message } = load({}, `${check} throw new Error(shown);`);
    expect(message).to.contain('PATH=').and.not.contain('TF_CPP_MIN_LOG_LEVEL');
  });

  it('says which library cannot be loaded and why', () => {
    fakeTensorFlow(folder());
    const { code, message } = load({ TFTRT_TENSORFLOW: folder() });
    expect(code).to.equal('TFTRT_TENSORFLOW_LOAD');
    expect(message)
      .to.contain(`${path.join(folder(), 'tensorflow/libtensorflow_cc.so.2')} cannot be loaded: `)
      .and.contain('The file is damaged or does not fit this system');
    expect(message).to.contain('unset it and run `npx tftrt install`');
  });

  it('says where there is too little memory to load it', function () {
    if (process.env.ASAN_OPTIONS) this.skip(); // the sanitizer takes terabytes of addresses
    const code = `ulimit -v 1200000; exec "$0" -e "$1"`;
    const script = `
      const { addonFile } = require('#src/setup/paths');
      try {
        require('#src/setup/load_tensorflow').loadTensorFlow(require(addonFile('tftrt_loader')));
      } catch ({ code, message }) {
        console.log(code, message);
      }`;
    const { stdout, stderr } = spawnSync('bash', ['-c', code, process.execPath, script], {
      encoding: 'utf8',
    });
    expect(stdout, stderr).to.match(/^TFTRT_TENSORFLOW_LOAD /);
    expect(stdout).to.contain('not enough memory').and.contain('ulimit -v').and.not.contain('damaged');
  });

  it('says that there is no /proc', () => {
    const { code, message } = load(
      {},
      `const fs = require('fs');
       const { readFileSync } = fs;
       fs.readFileSync = (file, ...more) => readFileSync(file === '/proc/self/maps' ? '/absent' : file, ...more);`,
    );
    expect(code).to.equal('TFTRT_NO_PROC');
    expect(message).to.contain('no such file').and.contain('Mount /proc');
  });

  it('asks the library for its version, whatever the files beside it say', () => {
    fakeTensorFlow(folder(), '2.17.1');
    const library = path.join(folder(), 'tensorflow/libtensorflow_cc.so.2');
    makeLibrary(library, '2.16.2');
    const { code, message } = load({ TFTRT_TENSORFLOW: folder() });
    expect(code).to.equal('TFTRT_TENSORFLOW_VERSION');
    expect(message).to.contain(`${library} is TensorFlow 2.16.2, but 2.17.1 is needed`);
  });

  it('refuses to load a second TensorFlow into the process', () => {
    const other = path.join(folder(), 'libtensorflow_framework.so.2');
    makeLibrary(other, '2.9.1');
    const { code, message } = load({}, `loader.open(${JSON.stringify(other)});`);
    expect(code).to.equal('TFTRT_TENSORFLOW_CONFLICT');
    expect(message).to.contain(`found: ${other}`).and.contain(locateTensorFlow().libraries.cc);
  });

  it('refuses a library path in which another TensorFlow would be found first', () => {
    const other = path.join(folder(), 'libtensorflow_framework.so.2');
    makeLibrary(other, '2.9.1');
    const { code, message } = load({ LD_LIBRARY_PATH: folder() });
    expect(code).to.equal('TFTRT_TENSORFLOW_CONFLICT');
    expect(message).to.contain(`found: ${other}`).and.contain('LD_LIBRARY_PATH');
  });

  it('accepts a library path that leads to the same TensorFlow', () => {
    expect(load({ LD_LIBRARY_PATH: locateTensorFlow().directory }).version).to.equal('2.17.1');
  });
});
