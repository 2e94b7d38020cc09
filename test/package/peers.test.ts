import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '#src/setup/paths';
import { runNode } from '../process/child';
import { useTemporaryFolder, writeFile } from '../setup/helpers';

/** The package beside other versions of TensorFlow.js than it needs, or none. */
describe('TensorFlow.js beside the package', function () {
  this.timeout(60_000);
  const folder = useTemporaryFolder();
  const installed = (name: string) => path.join(folder(), 'node_modules', name);

  beforeEach(() => {
    const own = installed('tfjs-backend-tftrt');
    fs.cpSync(path.join(packageRoot, 'dist'), path.join(own, 'dist'), { recursive: true });
    fs.copyFileSync(path.join(packageRoot, 'package.json'), path.join(own, 'package.json'));
  });

  /** The installed package under another version. */
  function install(name: string, versions: object = {}): void {
    const real = path.join(packageRoot, 'node_modules', name);
    writeFile(
      path.join(installed(name), 'index.js'),
      `module.exports = { ...require('${real}'), ...${JSON.stringify(versions)} };`,
    );
  }

  /** What becomes of loading the package. */
  async function loading(entry = 'tfjs-backend-tftrt') {
    const { stdout, stderr } = await runNode(`
      try {
        require('node:module').createRequire('${folder()}/app.js')('${entry}');
        console.log('loaded');
      } catch ({ name, code, message }) {
        console.log(name, code, message);
      }`);
    return { stdout: stdout.trim(), stderr };
  }

  for (const entry of ['tfjs-backend-tftrt', 'tfjs-backend-tftrt/node']) {
    it(`is missing: ${entry}`, async () => {
      const { stdout } = await loading(entry);
      expect(stdout).to.match(
        /^TftrtError TFTRT_TFJS_MISSING The package @tensorflow\/tfjs-core is not installed/,
      );
      expect(stdout).to.include('npm install @tensorflow/tfjs@^4.22.0');
    });
  }

  it('is there in part', async () => {
    install('@tensorflow/tfjs-core');
    expect((await loading()).stdout).to.match(
      /^TftrtError TFTRT_TFJS_MISSING .*@tensorflow\/tfjs-converter is not/,
    );
    install('@tensorflow/tfjs-converter');
    expect((await loading()).stdout).to.equal('loaded');
    expect((await loading('tfjs-backend-tftrt/node')).stdout).to.match(
      /^TftrtError TFTRT_TFJS_MISSING .*@tensorflow\/tfjs is not/,
    );
  });

  for (const version of ['3.21.0', '4.0.0', '4.9.0', '5.0.0']) {
    it(`is of version ${version}`, async () => {
      install('@tensorflow/tfjs-core', { version_core: version });
      install('@tensorflow/tfjs-converter');
      const { stdout } = await loading();
      expect(stdout)
        .to.match(/^TftrtError TFTRT_TFJS_VERSION /)
        .and.include(`in version ${version}, and`);
      expect(stdout).to.include(
        'npm install @tensorflow/tfjs-core@^4.22.0 @tensorflow/tfjs-converter@^4.22.0',
      );
    });
  }

  it('has a converter of another version', async () => {
    install('@tensorflow/tfjs');
    install('@tensorflow/tfjs-core');
    install('@tensorflow/tfjs-converter', { version_converter: '4.1.0' });
    expect((await loading()).stdout)
      .to.include('@tensorflow/tfjs-converter is installed in version 4.1.0')
      .and.include('npm install @tensorflow/tfjs@^4.22.0');
  });

  it('is of a version that works and is not tested: one warning', async () => {
    install('@tensorflow/tfjs-core', { version_core: '4.10.0' });
    install('@tensorflow/tfjs-converter', { version_converter: '4.10.0' });
    const { stdout, stderr } = await loading();
    expect(stdout).to.equal('loaded');
    expect(stderr.match(/^tftrt: .*$/gm)).to.have.length(1);
    expect(stderr).to.include('tested with ^4.22.0');
  });

  it('is of a later version of 4: no warning', async () => {
    install('@tensorflow/tfjs-core', { version_core: '4.23.0-rc1' });
    install('@tensorflow/tfjs-converter');
    const { stdout, stderr } = await loading();
    expect({ stdout, tftrt: /tftrt/.test(stderr) }, stderr).to.deep.equal({ stdout: 'loaded', tftrt: false });
  });
});
