import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import type { Diagnosis } from '#src/cli/check';
import { locateTensorFlow, packageRoot, packageVersion } from '#src/setup/paths';
import { Project, type Ran } from './project';
import { writeAverageColour } from './small_model';

const readme = fs.readFileSync(path.join(packageRoot, 'README.md'), 'utf8');

/** The README's first program, which names a model that is nobody's. */
const QUICK_START = /```js\n(.*?)```/s.exec(readme)![1]!;
const MODEL_OF_README = 'file:///path/to/model.json';
const quickStart = (model: string) => QUICK_START.replace(MODEL_OF_README, model);

/** The same program as an ES module. */
const asModule = (program: string) =>
  program
    .replace(/^const (\w+) = require\('(.*?)'\);/gm, "import * as $1 from '$2';")
    .replace(/^require\('(.*?)'\);/gm, "import '$1';");

const TSC = `node ${path.join(packageRoot, 'node_modules/typescript/bin/tsc')}`;

/** What it prints: two outputs of five classes for a black image. */
const FIVE_CLASSES = /^(Tensor\s+\[\[0\.2(0*), 0\.2\2, 0\.2\2, 0\.2\2, 0\.2\2\],?\]\s*){2}$/;

/** The project's folder has a compiler nowhere on its PATH, and this package only as `npm pack` made it. */
describe('the installed package', function () {
  this.timeout(180_000);
  let project: Project;
  let model: string;

  before(function () {
    project = new Project(fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'tftrt-test-'))));
    if (!project.install()) this.skip();
    model = `file://${writeAverageColour(path.join(project.folder, 'model'))}`;
  });
  after(() => fs.rmSync(project.folder, { recursive: true, force: true }));

  /** Runs a command that is to succeed and has nothing to complain of; returns what it prints. */
  async function run(commandLine: string): Promise<string> {
    const { stdout, ...end }: Ran = await project.run(commandLine);
    expect(end, `${commandLine}\n${stdout}`).to.deep.equal({ code: 0, stderr: '' });
    return stdout;
  }

  it('has nothing that could compile', async () => {
    expect((await project.run('command -v g++ || command -v cmake || command -v python3')).code).to.equal(
      127,
    );
  });

  it('answers with npx tftrt', async () => {
    expect(await run('npx tftrt --version')).to.equal(`${packageVersion()}\n`);
    expect(await run('npx tftrt doctor')).to.match(/^addon +ok .*\/build\/Release\/tftrt\.node$/m);
    const { ok, checks }: Diagnosis = JSON.parse(await run('npx tftrt doctor --json'));
    expect(ok).to.equal(true);
    const addon = checks.find(({ name }) => name === 'addon')!;
    expect(addon.path).to.equal(
      path.join(project.folder, 'node_modules/tfjs-backend-tftrt/build/Release/tftrt.node'),
    );
  });

  it('has nothing to install where TensorFlow is there', async () => {
    // Only that all is there may be found out without Python.
    const { code, stderr } = await project.run('npx tftrt install');
    expect({ code, stderr }).to.deep.equal({
      code: 0,
      stderr: 'tftrt: installed; `npx tftrt doctor` checks it\n',
    });
  });

  it('says what it takes to fetch TensorFlow, and takes one that is there', async () => {
    const inCache = 'env -u TFTRT_TENSORFLOW TFTRT_CACHE_DIR=cache npx tftrt';
    const { code, stderr } = await project.run(`${inCache} install`);
    expect(code).to.equal(1);
    expect(stderr).to.contain('TFTRT_SETUP_PYTHON').and.contain('apt-get install python3 python3-pip');
    const { home } = locateTensorFlow();
    expect((await project.run(`${inCache} install --from ${home}`)).code).to.equal(0);
    const doctor = JSON.parse(await run(`${inCache} doctor --json`)) as Diagnosis;
    const tensorFlow = doctor.checks.find(({ name }) => name === 'TensorFlow')!;
    expect(tensorFlow.path).to.equal(path.join(project.folder, 'cache/tensorflow-2.17.1/tensorflow'));
  });

  describe('runs the quick-start of the README', () => {
    it('as it is', async () => {
      expect(QUICK_START).to.contain(MODEL_OF_README);
      project.write('quick.js', quickStart(model));
      expect(await run('node quick.js')).to.match(FIVE_CLASSES);
    });

    it('as an ES module', async () => {
      project.write('quick.mjs', asModule(quickStart(model)));
      expect(await run('node quick.mjs')).to.match(FIVE_CLASSES);
    });

    const compile = (options: string, file: string) =>
      run(`${TSC} --strict --skipLibCheck --target es2022 ${options} ${file}`);

    it('in TypeScript, as CommonJS', async () => {
      project.write('typed.ts', asModule(quickStart(model)));
      await compile('--module node16', 'typed.ts');
      expect(fs.readFileSync(path.join(project.folder, 'typed.js'), 'utf8')).to.contain(
        'require("tfjs-backend',
      );
      expect(await run('node typed.js')).to.match(FIVE_CLASSES);
    });

    it('in TypeScript, as an ES module', async () => {
      project.write('typed.mts', asModule(quickStart(model)));
      await compile('--module node16', 'typed.mts');
      expect(await run('node typed.mjs')).to.match(FIVE_CLASSES);
    });

    it('in TypeScript, as for a bundler', async () => {
      project.write('bundled.mts', asModule(quickStart(model)));
      await compile('--module esnext --moduleResolution bundler', 'bundled.mts');
      expect(await run('node bundled.mjs')).to.match(FIVE_CLASSES);
    });
  });

  const RESOLUTIONS = [
    '--module node16',
    '--module nodenext',
    '--module preserve --moduleResolution bundler',
    '--module commonjs --moduleResolution node10 --ignoreDeprecations 6.0',
  ];
  for (const resolution of RESOLUTIONS) {
    it(`has types for TypeScript with ${resolution}`, async () => {
      project.write(
        'entries.ts',
        `import * as tf from '@tensorflow/tfjs';
        import { build, configure } from 'tfjs-backend-tftrt';
        import * as tfNode from 'tfjs-backend-tftrt/node';
        import 'tfjs-backend-tftrt/replace-tfjs-node';
        configure({ device: 'gpu:1', precision: 'TF32' });
        export const build16 = (model: tf.GraphModel) => build(model, { precision: 'FP16', inputs: [tf.zeros([1])] });
        export const image: tf.Tensor = tfNode.node.decodeImage(new Uint8Array());`,
      );
      // Without --skipLibCheck, for faults of this package's types; those of tfjs have some themselves.
      const { stdout } = await project.run(
        `${TSC} --noEmit --strict --target es2022 ${resolution} entries.ts`,
      );
      expect(stdout.match(/^(entries|node_modules.tfjs-backend-tftrt).*$/gm)).to.equal(null);
      expect(stdout).not.to.match(/^error/m);
    });
  }

  describe('takes a program for tfjs-node', () => {
    const program = (name: string) => `
      const tf = require('${name}');
      const image = tf.node.decodeImage(new Uint8Array(require('fs').readFileSync('pixel.png')));
      tf.loadGraphModel(tf.io.fileSystem('model/model.json')).then((model) => {
        const output = model.predict(tf.tile(image.expandDims(0).toFloat(), [1, 224, 224, 1]));
        console.log(tf.getBackend(), image.arraySync().join(), output.argMax(-1).arraySync().join());
      });`;
    /** One pixel: red 200, green 0, blue 0. */
    const PIXEL =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGM4wcAAAAJcAMlDyBJGAAAAAElFTkSuQmCC';
    before(() => fs.writeFileSync(path.join(project.folder, 'pixel.png'), Buffer.from(PIXEL, 'base64')));

    it('with one line changed', async () => {
      expect(readme).to.contain("by `require('tfjs-backend-tftrt/node')`");
      project.write('changed.js', program('tfjs-backend-tftrt/node'));
      expect(await run('node changed.js')).to.equal('tftrt 200,0,0 0\n');
    });

    it('with no line changed', async () => {
      const [, command] = /without a change[^`]*`(node -r \S+ app\.js)`/i.exec(readme)!;
      for (const name of ['@tensorflow/tfjs-node', '@tensorflow/tfjs-node-gpu']) {
        project.write('app.js', program(name));
        expect(await run(command!)).to.equal('tensorflow 200,0,0 0\n');
      }
    });
  });
});
