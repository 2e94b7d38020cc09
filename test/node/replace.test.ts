import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '#src/setup/paths';
import { useTemporaryFolder, writeFile } from '../setup/helpers';
import { linkPackage, makeClient, runClient } from '../support/client';

/** A program for tfjs-node: CommonJS and ES module. */
const LOADERS = {
  cjs: (name: string, program: string) => `const tf = require('${name}');\n${program}`,
  mjs: (name: string, program: string) => `import * as tf from '${name}';\n${program}`,
};

const REPORT = `console.log([tf.getBackend(), tf.add(1, 2).dataSync()[0], typeof tf.node.decodeImage].join());`;

describe('tfjs-backend-tftrt/replace-tfjs-node', function () {
  this.timeout(120_000);
  const folder = useTemporaryFolder();

  const client = (files: Readonly<Record<string, string>>) => makeClient(folder(), files);
  const run = (...args: string[]) => runClient(folder(), args);

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

  it('computes with tensors of another copy of tfjs-core', () => {
    client({
      'app.cjs': `
        const other = require('other-core');
        const tf = require('@tensorflow/tfjs-node');
        const mine = other.tensor1d([1, 2]);
        const sum = other.add(mine, tf.tensor1d([3, 4]));
        console.log(
          other.Tensor !== tf.Tensor, other.getBackend(), sum instanceof tf.Tensor,
          sum.dataSync().join(), tf.mul(sum, mine).dataSync().join(), tf.backend().getNumOfTFTensors() > 0,
        );`,
    });
    // A real copy: by a link, it would be the same module.
    const core = path.dirname(require.resolve('@tensorflow/tfjs-core/package.json'));
    for (const file of ['package.json', 'dist/tf-core.node.js']) {
      const place = path.join(folder(), 'node_modules/other-core', file);
      fs.mkdirSync(path.dirname(place), { recursive: true });
      fs.copyFileSync(path.join(core, file), place);
    }
    for (const name of ['long', 'node-fetch', 'seedrandom']) {
      linkPackage(folder(), name, path.dirname(require.resolve(`${name}/package.json`, { paths: [core] })));
    }
    expect(run('-r', 'tfjs-backend-tftrt/replace-tfjs-node', 'app.cjs')).to.equal(
      'true tensorflow true 4,6 4,12 true',
    );
  });

  it('works through npm’s overrides and a package of two lines, too', function () {
    if (spawnSync('npm', ['--version']).error !== undefined) this.skip();
    writeFile(
      path.join(folder(), 'third/package.json'),
      '{ "name": "third", "version": "1.0.0", "dependencies": { "@tensorflow/tfjs-node": "^4.0.0" } }',
    );
    writeFile(path.join(folder(), 'third/index.js'), `module.exports = require('@tensorflow/tfjs-node');`);
    const npm = (cwd: string, ...args: string[]) =>
      execFileSync('npm', [...args, '--offline', '--ignore-scripts', '--no-audit', '--no-fund'], {
        cwd,
        stdio: 'pipe',
      });
    npm(path.join(folder(), 'third'), 'pack');
    writeFile(
      path.join(folder(), 'tfjs-node/package.json'),
      '{ "name": "@tensorflow/tfjs-node", "version": "4.22.0", "main": "index.js" }',
    );
    writeFile(
      path.join(folder(), 'tfjs-node/index.js'),
      `module.exports = require('tfjs-backend-tftrt/node');`,
    );
    writeFile(
      path.join(folder(), 'package.json'),
      JSON.stringify({
        dependencies: { third: 'file:third/third-1.0.0.tgz' },
        overrides: { '@tensorflow/tfjs-node': 'file:tfjs-node' },
      }),
    );
    npm(folder(), 'install');
    linkPackage(folder(), 'tfjs-backend-tftrt', packageRoot);
    writeFile(path.join(folder(), 'app.mjs'), `import * as tf from '@tensorflow/tfjs-node';\n${REPORT}`);
    writeFile(path.join(folder(), 'app.cjs'), `const tf = require('third');\n${REPORT}`);
    expect([run('app.cjs'), run('app.mjs')]).to.deep.equal(['tftrt,3,function', 'tftrt,3,function']);
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
