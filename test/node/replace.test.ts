import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '#src/setup/paths';
import { useTemporaryFolder } from '../setup/helpers';

/** A program for tfjs-node: CommonJS and ES module. */
const LOADERS = {
  cjs: (name: string, program: string) => `const tf = require('${name}');\n${program}`,
  mjs: (name: string, program: string) => `import * as tf from '${name}';\n${program}`,
};

const REPORT = `console.log([tf.getBackend(), tf.add(1, 2).dataSync()[0], typeof tf.node.decodeImage].join());`;

describe('tfjs-backend-tftrt/replace-tfjs-node', function () {
  this.timeout(120_000);
  const folder = useTemporaryFolder();

  /** A client's folder with this package, tfjs, and packages made of the files given. */
  function client(files: Readonly<Record<string, string>>): void {
    link('tfjs-backend-tftrt', packageRoot);
    for (const name of fs.readdirSync(path.join(packageRoot, 'node_modules/@tensorflow'))) {
      link(`@tensorflow/${name}`, path.join(packageRoot, 'node_modules/@tensorflow', name));
    }
    for (const [name, content] of Object.entries(files)) {
      fs.mkdirSync(path.dirname(path.join(folder(), name)), { recursive: true });
      fs.writeFileSync(path.join(folder(), name), content);
    }
  }

  function link(name: string, target: string): void {
    const place = path.join(folder(), 'node_modules', name);
    fs.mkdirSync(path.dirname(place), { recursive: true });
    fs.symlinkSync(target, place);
  }

  function run(...args: string[]): string {
    return execFileSync(process.execPath, args, {
      cwd: folder(),
      encoding: 'utf8',
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  }

  for (const flag of ['-r', '--import']) {
    for (const [kind, loader] of Object.entries(LOADERS)) {
      for (const name of ['@tensorflow/tfjs-node', '@tensorflow/tfjs-node-gpu']) {
        it(`stands in for ${name}: ${flag}, ${kind}`, () => {
          client({ [`app.${kind}`]: loader(name, REPORT) });
          expect(run(flag, 'tfjs-backend-tftrt/replace-tfjs-node', `app.${kind}`)).to.equal(
            'tensorflow,3,function',
          );
        });
      }
    }
  }

  it('gives CommonJS and ES modules the same module', () => {
    client({
      'app.mjs': `
        import { createRequire } from 'node:module';
        import tf from '@tensorflow/tfjs-node';
        import dist from '@tensorflow/tfjs-node/dist/index.js';
        const required = createRequire(import.meta.url)('@tensorflow/tfjs-node-gpu');
        const imported = await import('@tensorflow/tfjs-node');
        console.log(tf === required, dist === required, imported.default === required);`,
    });
    expect(run('-r', 'tfjs-backend-tftrt/replace-tfjs-node', 'app.mjs')).to.equal('true true true');
  });

  it('leaves an installed tfjs-node alone but for its entry', () => {
    const home = 'node_modules/@tensorflow/tfjs-node';
    client({
      [`${home}/package.json`]:
        '{ "name": "@tensorflow/tfjs-node", "version": "9.9.9", "main": "dist/index.js" }',
      [`${home}/dist/index.js`]: 'throw new Error("the entry of tfjs-node was loaded");',
      [`${home}/dist/other.js`]: 'exports.other = true;',
      'app.cjs': `
        const { version } = require('@tensorflow/tfjs-node/package.json');
        const { other } = require('@tensorflow/tfjs-node/dist/other');
        console.log(version, other, require('@tensorflow/tfjs-node/dist/index').getBackend());`,
    });
    expect(run('-r', 'tfjs-backend-tftrt/replace-tfjs-node', 'app.cjs')).to.equal('9.9.9 true tensorflow');
    expect(() => run('app.cjs')).to.throw('the entry of tfjs-node was loaded');
  });

  it('says that other files of tfjs-node are missing where it is not installed', () => {
    client({ 'app.cjs': `require('@tensorflow/tfjs-node/dist/io/file_system');` });
    expect(() => run('-r', 'tfjs-backend-tftrt/replace-tfjs-node', 'app.cjs')).to.throw(
      "Cannot find module '@tensorflow/tfjs-node/dist/io/file_system'",
    );
  });

  it('reaches worker threads', () => {
    client({
      'app.cjs': `
        const { Worker } = require('node:worker_threads');
        new Worker(${JSON.stringify(LOADERS.cjs('@tensorflow/tfjs-node', REPORT))}, { eval: true });`,
    });
    expect(run('-r', 'tfjs-backend-tftrt/replace-tfjs-node', 'app.cjs')).to.equal('tensorflow,3,function');
  });

  it('runs kernels that others registered for tfjs-node’s backend', () => {
    client({
      'app.cjs': `
        const tf = require('@tensorflow/tfjs-node');
        tf.registerKernel({
          kernelName: 'Triple',
          backendName: 'tensorflow',
          kernelFunc: ({ inputs, backend }) => backend.executeSingleOutput(
            'Mul',
            [{ name: 'T', type: backend.binding.TF_ATTR_TYPE, value: backend.binding.TF_FLOAT }],
            [inputs.x, tf.scalar(3)],
          ),
        });
        console.log(tf.engine().runKernel('Triple', { x: tf.tensor1d([1, 2]) }).dataSync().join());`,
    });
    expect(run('-r', 'tfjs-backend-tftrt/replace-tfjs-node', 'app.cjs')).to.equal('3,6');
  });
});
