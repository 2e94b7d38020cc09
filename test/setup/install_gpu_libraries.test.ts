import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { TftrtError } from '#src/errors';
import { CUDA_LIBRARIES, TENSORRT_LIBRARIES, TENSORRT_NAMES } from '#src/setup/gpu_libraries';
import { cudaRequirements, ensureGpuLibraries } from '#src/setup/install_gpu_libraries';
import { downloadArtifact, mavenRepository } from '#src/setup/maven';
import { locateTensorFlow } from '#src/setup/paths';
import { fakeRegistries, METADATA, PYTHON } from './fake_registries';
import { fakeTensorFlow, useEnvironment, useTemporaryFolder, writeFile, writeLibrary } from './helpers';

describe('ensureGpuLibraries', () => {
  const folder = useTemporaryFolder();
  const inside = (...names: string[]) => path.join(folder(), ...names);
  const home = (...names: string[]) => inside('cache/tensorflow-2.17.1', ...names);
  const log = () => fs.readFileSync(inside('log'), 'utf8').trim().split('\n');
  const ensure = () => ensureGpuLibraries(locateTensorFlow());

  beforeEach(() => {
    fakeTensorFlow(home());
    writeFile(home('tensorflow-2.17.1.dist-info/METADATA'), METADATA);
    fakeRegistries(folder());
  });
  useEnvironment(() => ({
    PATH: `${inside('bin')}:${process.env.PATH}`,
    FAKE: folder(),
    TFTRT_CACHE_DIR: inside('cache'),
    TFTRT_TENSORFLOW: undefined,
    LD_LIBRARY_PATH: undefined,
  }));

  /** What is beside TensorFlow. */
  const installed = () =>
    fs
      .readdirSync(home())
      .filter((name) => !name.startsWith('tensorflow') && !name.endsWith('.lock'))
      .sort();

  it("installs the wheel's own list with pip and TensorRT with Maven, once", async () => {
    await ensure();
    await ensure();
    const [pip, mvn, ...more] = log();
    expect(more).to.deep.equal([]);
    expect(pip).to.match(/ nvidia-cublas-cu12==12\.3\.4\.1 nvidia-cudnn-cu12==8\.9\.7\.29$/);
    expect(mvn).to.contain('-Dartifact=org.bytedeco:tensorrt:8.6-1.5.10:jar:linux-x86_64-redist');
    expect(mvn).to.contain('--strict-checksums');
    expect(installed()).to.deep.equal(['nvidia', 'tensorrt']);
    expect(fs.readlinkSync(home('tensorrt/libnvinfer.so.8.6.1'))).to.equal('libnvinfer.so.8');
    expect(fs.existsSync(home('nvidia/cudnn/lib/libcudnn.so.8'))).to.equal(true);
  });

  it('needs no program when all is there', async () => {
    await ensure();
    process.env.PATH = '';
    await ensure();
  });

  it('mends the folder that lacks a library, and no other', async () => {
    await ensure();
    fs.rmSync(home('tensorrt/libnvinfer.so.8'));
    await ensure();
    expect(log().map((line) => line.split(' ')[0])).to.deep.equal(['pip', 'mvn', 'mvn']);
    expect(installed()).to.deep.equal(['nvidia', 'tensorrt']);
  });

  it('installs nothing where the libraries are installed', async () => {
    for (const { file } of [...CUDA_LIBRARIES, ...TENSORRT_LIBRARIES]) writeLibrary(inside('usr', file));
    process.env.LD_LIBRARY_PATH = inside('usr');
    await ensure();
    expect(fs.existsSync(inside('log'))).to.equal(false);
    expect(installed()).to.deep.equal([]);
  });

  it('leaves nothing half-done when a download breaks off, and does not repeat what was done', async () => {
    writeFile(inside('maven-fails'));
    const error = await ensure().catch((thrown) => thrown);
    expect(error).to.be.instanceOf(TftrtError).with.property('code', 'TFTRT_SETUP_MAVEN');
    if (!process.stderr.isTTY) expect(error.message).to.contain('no route to the moon');
    expect(installed()).to.deep.equal(['nvidia']);
    fs.rmSync(inside('maven-fails'));
    await ensure();
    expect(log().map((line) => line.split(' ')[0])).to.deep.equal(['pip', 'mvn', 'mvn']);
    expect(installed()).to.deep.equal(['nvidia', 'tensorrt']);
  });

  it('says so when TensorFlow does not tell what it needs', () => {
    fs.rmSync(home('tensorflow-2.17.1.dist-info'), { recursive: true });
    expect(() => cudaRequirements(locateTensorFlow())).to.throw(TftrtError, 'and-cuda');
  });
});

describe('downloadArtifact without Maven', () => {
  const folder = useTemporaryFolder();
  const inside = (...names: string[]) => path.join(folder(), ...names);
  const artifact = { group: 'org.things', name: 'thing', version: '1.0', classifier: 'linux' };
  const jar = 'thing-1.0-linux.jar';
  const download = () =>
    downloadArtifact(artifact, inside('out'), { title: 'downloading a thing', usually: 'a moment' });
  const mirror = (of: string, url: string) => `<mirror><mirrorOf>${of}</mirrorOf><url>${url}</url></mirror>`;
  const settings = (...mirrors: string[]) =>
    writeFile(inside('.m2/settings.xml'), `<settings><mirrors>${mirrors.join('')}</mirrors></settings>`);
  const publish = (sha1: string) => {
    writeFile(inside('repository/org/things/thing/1.0', jar), 'content');
    writeFile(inside('repository/org/things/thing/1.0', `${jar}.sha1`), `${sha1}\n`);
    settings(mirror('central', `file://${inside('repository')}`));
  };

  beforeEach(() => {
    fs.mkdirSync(inside('out'));
    writeFile(inside('bin/python3'), `#!/bin/sh\nexec ${PYTHON} "$@"\n`);
    fs.chmodSync(inside('bin/python3'), 0o755);
  });
  useEnvironment(() => ({ HOME: folder(), PATH: inside('bin') }));

  it("takes the user's mirror of Maven Central, else that itself", () => {
    expect(mavenRepository()).to.equal('https://repo1.maven.org/maven2');
    settings(mirror('others', 'https://others.test'), mirror('central', 'https://mine.test/maven/'));
    expect(mavenRepository()).to.equal('https://mine.test/maven');
    settings(mirror('*,!central', 'https://others.test'), `<!-- ${mirror('*', 'https://off.test')} -->`);
    expect(mavenRepository()).to.equal('https://repo1.maven.org/maven2');
  });

  it('downloads a jar', async () => {
    publish(createHash('sha1').update('content').digest('hex'));
    expect(await download()).to.equal(inside('out', jar));
    expect(fs.readFileSync(inside('out', jar), 'utf8')).to.equal('content');
  });

  it('refuses one with a wrong checksum', async () => {
    publish('0'.repeat(40));
    const error = await download().catch((thrown) => thrown);
    expect(error).to.be.instanceOf(TftrtError).with.property('code', 'TFTRT_SETUP_MAVEN');
    if (!process.stderr.isTTY) expect(error.message).to.contain(`should be ${'0'.repeat(40)}`);
  });
});

describe('npm run setup', () => {
  const folder = useTemporaryFolder();
  const inside = (...names: string[]) => path.join(folder(), ...names);
  const home = (...names: string[]) => inside('cache/tensorflow-2.17.1-gpu', ...names);
  const { home: tensorFlow } = locateTensorFlow();
  // TensorFlow as it is, so that nothing is built; a cache of the test's own for all else.
  useEnvironment(() => ({
    TFTRT_TENSORFLOW: tensorFlow,
    TFTRT_CACHE_DIR: inside('cache'),
    PATH: `${inside('bin')}:${process.env.PATH}`,
    FAKE: folder(),
  }));
  const setUp = (...args: string[]) =>
    spawnSync(process.execPath, ['-e', `require('#src/setup/main').setUp(${JSON.stringify(args)})`], {
      encoding: 'utf8',
    });

  beforeEach(() => fakeRegistries(folder()));

  it('brings the libraries for a GPU with --gpu, by the list of the wheel that is there', () => {
    const { status, stderr } = setUp('--gpu');
    expect(status, stderr).to.equal(0);
    for (const { folder: place, file } of [...CUDA_LIBRARIES, ...TENSORRT_LIBRARIES]) {
      expect(fs.existsSync(home(place, file)), file).to.equal(true);
    }
    expect(fs.existsSync(home('tensorrt', TENSORRT_NAMES))).to.equal(true);
    const [pip] = fs.readFileSync(inside('log'), 'utf8').split('\n');
    expect(pip!.match(/ nvidia-\S+==\S+/g))
      .to.include(' nvidia-cudnn-cu12==8.9.7.29')
      .and.have.length(12);
    expect(setUp('--gpu').stderr).to.equal('');
  });

  it('takes them from a folder with --from', () => {
    const { status, stderr } = setUp('--from', inside('wheels'));
    expect(status, stderr).to.equal(0);
    expect(fs.existsSync(home('nvidia/cudnn/lib/libcudnn.so.8'))).to.equal(true);
    expect(fs.existsSync(inside('log'))).to.equal(false);
  });

  it('refuses options that it does not know', () => {
    const { status, stderr } = setUp('--gpus');
    expect(status).to.equal(1);
    expect(stderr).to.contain('--gpus').and.contain('usage: npm run setup [-- --gpu | --from FOLDER]');
  });
});
