import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { cacheDir, locateTensorFlow } from '#src/setup/paths';
import {
  expectTftrtError,
  fakeTensorFlow,
  setVariable,
  useEnvironment,
  useTemporaryFolder,
  writeFile,
} from './helpers';

describe('cacheDir', () => {
  useEnvironment(() => ({ TFTRT_CACHE_DIR: undefined, XDG_CACHE_HOME: undefined, HOME: '/home/someone' }));

  it('is ~/.cache/tftrt by default', () => {
    expect(cacheDir()).to.equal('/home/someone/.cache/tftrt');
  });

  it('follows XDG_CACHE_HOME, unless that is relative', () => {
    process.env.XDG_CACHE_HOME = '/caches';
    expect(cacheDir()).to.equal('/caches/tftrt');
    process.env.XDG_CACHE_HOME = 'caches';
    expect(cacheDir()).to.equal('/home/someone/.cache/tftrt');
  });

  for (const home of ['', 'relative']) {
    it(`follows the system's list of users where HOME is '${home}'`, () => {
      process.env.HOME = home;
      expect(cacheDir()).to.equal(path.join(os.userInfo().homedir, '.cache/tftrt'));
    });
  }

  it('asks for a folder where the user has no home', () => {
    const { homedir } = os;
    os.homedir = () => {
      throw new Error('no entry');
    };
    try {
      const { message } = expectTftrtError('TFTRT_NO_HOME', () => cacheDir());
      expect(message).to.contain('Set HOME, or TFTRT_CACHE_DIR');
      process.env.TFTRT_CACHE_DIR = '/mine';
      expect(cacheDir()).to.equal('/mine');
    } finally {
      os.homedir = homedir;
    }
  });

  it('is TFTRT_CACHE_DIR above all', () => {
    process.env.XDG_CACHE_HOME = '/caches';
    process.env.TFTRT_CACHE_DIR = '/mine';
    expect(cacheDir()).to.equal('/mine');
  });
});

describe('locateTensorFlow', () => {
  const folder = useTemporaryFolder();
  useEnvironment(() => ({ TFTRT_TENSORFLOW: undefined, TFTRT_CACHE_DIR: path.join(folder(), 'cache') }));

  it('calls the default place so', () => {
    setVariable('TFTRT_CACHE_DIR', undefined);
    setVariable('XDG_CACHE_HOME', folder());
    const { message } = expectTftrtError('TFTRT_TENSORFLOW_MISSING', () => locateTensorFlow());
    expect(message).to.contain(`in ${path.join(folder(), 'tftrt/tensorflow-2.17.1')} (the default place)`);
  });

  it('says which files this user may not read', () => {
    const home = path.join(folder(), 'cache', 'tensorflow-2.17.1');
    fakeTensorFlow(home);
    fs.chmodSync(path.join(home, 'tensorflow'), 0);
    // Nothing is forbidden to root.
    const code = `
      const { locateTensorFlow } = require('#src/setup/paths');
      if (process.getuid() === 0) process.setuid(65534);
      try { locateTensorFlow(); } catch ({ code, message }) { console.log(code, message); }`;
    try {
      const { stdout, stderr } = spawnSync(process.execPath, ['-e', code], { encoding: 'utf8' });
      expect(stdout, stderr).to.match(/^TFTRT_TENSORFLOW_UNREADABLE /);
      expect(stdout)
        .to.contain(`not readable: ${home}/tensorflow/libtensorflow_cc.so.2`)
        .and.not.contain('missing');
    } finally {
      fs.chmodSync(path.join(home, 'tensorflow'), 0o755);
    }
  });

  it('finds the installation in the cache', () => {
    const home = path.join(folder(), 'cache', 'tensorflow-2.17.1');
    fakeTensorFlow(home);
    expect(locateTensorFlow('build')).to.deep.equal({
      home,
      directory: `${home}/tensorflow`,
      libraries: {
        framework: `${home}/tensorflow/libtensorflow_framework.so.2`,
        cc: `${home}/tensorflow/libtensorflow_cc.so.2`,
      },
      includeDir: `${home}/tensorflow/include`,
      version: '2.17.1',
    });
  });

  for (const named of ['site-packages', 'site-packages/tensorflow']) {
    it(`finds the installation that TFTRT_TENSORFLOW names as .../${named}`, () => {
      const home = path.join(folder(), 'site-packages');
      fakeTensorFlow(home);
      process.env.TFTRT_TENSORFLOW = path.join(folder(), named);
      expect(locateTensorFlow('build')).to.include({ home, directory: `${home}/tensorflow` });
    });
  }

  it('finds a tensorflow folder of another name', () => {
    fakeTensorFlow(folder());
    fs.renameSync(path.join(folder(), 'tensorflow'), path.join(folder(), 'tf'));
    process.env.TFTRT_TENSORFLOW = path.join(folder(), 'tf');
    expect(locateTensorFlow()).to.include({ home: folder(), directory: path.join(folder(), 'tf') });
  });

  it('lists each missing file in one error, with where it looked and what to do', () => {
    const home = path.join(folder(), 'cache', 'tensorflow-2.17.1');
    const { message } = expectTftrtError('TFTRT_TENSORFLOW_MISSING', () => locateTensorFlow('build'));
    expect(message).to.contain(`in ${home} (in the folder that TFTRT_CACHE_DIR names)`);
    expect(message.match(/^ {2}missing: .*$/gm)).to.deep.equal([
      `  missing: ${home}/tensorflow/libtensorflow_framework.so.2`,
      `  missing: ${home}/tensorflow/libtensorflow_cc.so.2`,
      `  missing: ${home}/tensorflow/include/tensorflow/core/public/version.h`,
      `  missing: ${home}/tensorflow/include/third_party/gpus/cuda/include/cuda.h`,
    ]);
    expect(message).to.contain('npx tftrt install').and.contain('TFTRT_TENSORFLOW');
  });

  it('lists only what is missing, and says when TFTRT_TENSORFLOW named the place', () => {
    fakeTensorFlow(folder());
    fs.rmSync(path.join(folder(), 'tensorflow', 'libtensorflow_cc.so.2'));
    process.env.TFTRT_TENSORFLOW = folder();
    const { message } = expectTftrtError('TFTRT_TENSORFLOW_MISSING', () => locateTensorFlow());
    expect(message.match(/missing: .*/g)).to.deep.equal([
      `missing: ${folder()}/tensorflow/libtensorflow_cc.so.2`,
    ]);
    expect(message).to.contain('named by TFTRT_TENSORFLOW');
  });

  it('says what TFTRT_TENSORFLOW names instead of a folder', () => {
    const problem = (named: string) => {
      process.env.TFTRT_TENSORFLOW = path.join(folder(), named);
      return expectTftrtError('TFTRT_TENSORFLOW_MISSING', () => locateTensorFlow()).message;
    };
    writeFile(path.join(folder(), 'file'));
    expect(problem('file')).to.contain('(named by TFTRT_TENSORFLOW; that is a file, not a folder)');
    expect(problem('file/below')).to.contain('there is no such folder');
    expect(problem('absent')).to.contain('(named by TFTRT_TENSORFLOW; there is no such folder)');
  });

  it('needs the headers to build only', () => {
    fakeTensorFlow(folder());
    fs.rmSync(path.join(folder(), 'tensorflow', 'include'), { recursive: true });
    process.env.TFTRT_TENSORFLOW = folder();
    expect(locateTensorFlow('run').version).to.equal(null);
    expectTftrtError('TFTRT_TENSORFLOW_MISSING', () => locateTensorFlow('build'));
  });

  it('refuses another version, by the headers', () => {
    fakeTensorFlow(folder(), '2.16.2');
    process.env.TFTRT_TENSORFLOW = folder();
    const { message } = expectTftrtError('TFTRT_TENSORFLOW_VERSION', () => locateTensorFlow());
    expect(message).to.contain(`TensorFlow 2.16.2 was found in ${folder()}`).and.contain('2.17.1 is needed');
  });

  it("refuses another version, by pip's folder, and does not mistake other packages for it", () => {
    fakeTensorFlow(folder());
    fs.rmSync(path.join(folder(), 'tensorflow', 'include'), { recursive: true });
    setVariable('TFTRT_TENSORFLOW', folder());
    writeFile(path.join(folder(), 'tensorflow_estimator-2.15.0.dist-info', 'METADATA'));
    expect(locateTensorFlow().version).to.equal(null);
    writeFile(path.join(folder(), 'tensorflow_cpu-2.15.0.dist-info', 'METADATA'));
    const { message } = expectTftrtError('TFTRT_TENSORFLOW_VERSION', () => locateTensorFlow());
    expect(message).to.contain('TensorFlow 2.15.0');
  });
});
