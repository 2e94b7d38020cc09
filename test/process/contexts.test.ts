import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';
import * as tf from '@tensorflow/tfjs-core';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { addonFile, packageRoot } from '#src/setup/paths';
import { useTemporaryFolder } from '../setup/helpers';
import { readFixture } from '../support/fixtures';
import { onTftrt } from '../support/tftrt';
import { type Ended, runNode, withoutLinesOfCuda } from './child';

const MODEL = `'file://${path.join(readFixture('graph_models', 'small_cnn').folder, 'model.json')}'`;
const SAVED_MODEL = `'${readFixture('saved_models', 'keras_cnn').folder}'`;
const FROZEN_GRAPH = path.join(packageRoot, 'test/fixtures/frozen_graphs/layers.pb');

function expectLines({ code, signal, stdout, stderr }: Ended, lines: string[]): void {
  expect({ code, signal, lines: stdout.trim().split('\n') }, stderr).to.deep.equal({
    code: 0,
    signal: null,
    lines,
  });
}

describe('values of another vm context', () => {
  onTftrt();
  const theirs = (expression: string) => vm.runInNewContext(expression);

  const cases: [expression: string, dtype: tf.DataType, values: unknown[]][] = [
    ['new Float32Array([1, 2])', 'float32', [1, 2]],
    ['new Int32Array([1, -2])', 'int32', [1, -2]],
    ['new Uint8Array([1, 0])', 'bool', [1, 0]],
    ['new Uint8Array([7, 255])', 'int32', [7, 255]],
    ['new Uint8ClampedArray([7, 255])', 'float32', [7, 255]],
    ['[1, 2]', 'float32', [1, 2]],
    ['["a", "ä"]', 'string', ['a', 'ä']],
    ['[new Uint8Array([97]), new Uint8Array([98])]', 'string', ['a', 'b']],
  ];
  for (const [expression, dtype, values] of cases) {
    it(`are tensors of ${dtype}: ${expression}`, async () => {
      const x = tf.tensor(theirs(expression), [2], dtype);
      expect(x.dtype).to.equal(dtype);
      const y = tf.tidy(() => tf.concat([x, tf.reshape(x, [2])]));
      expect([...(await y.data())]).to.deep.equal([...values, ...values]);
      expect([...x.dataSync()]).to.deep.equal(values);
      tf.dispose([x, y]);
    });
  }

  it('are complex numbers', () => {
    const x = tf.complex(theirs('new Float32Array([1, 2])'), theirs('new Float32Array([3, 4])'));
    expect([...tf.tidy(() => tf.mul(x, x).dataSync())]).to.deep.equal([-8, 6, -12, 16]);
    x.dispose();
  });

  it('are bytes of a frozen graph, and nothing else is', async () => {
    const inTheirs = (make: string) => {
      const array = theirs(`(list) => ${make}`)([...fs.readFileSync(FROZEN_GRAPH)]);
      return tftrt.loadFrozenGraph(array, { outputs: ['probabilities'] });
    };
    const model = await inTheirs('new Uint8Array(list)');
    expect(model.outputs[0]!.shape).to.deep.equal([-1, 5]);
    model.dispose();
    const error = await inTheirs('new Float32Array(list)').catch((reason) => reason);
    expect(error.code).to.equal('TFTRT_INVALID_ARGUMENT');
  });
});

describe('the package in vm contexts', function () {
  this.timeout(120_000);

  it('computes in each with tensors of its own', async () => {
    const ended = await runNode(`
      const fs = require('node:fs');
      const { moduleLoader } = require('./dist-dev/test/process/in_context.js');
      const make = () => {
        const load = moduleLoader(process.cwd() + '/package.json');
        return { tf: load('@tensorflow/tfjs'), tftrt: load('tfjs-backend-tftrt'), load };
      };
      (async () => {
        const places = [make(), make()];
        console.log(places[0].tftrt !== places[1].tftrt);
        for (const { tf } of places) await tf.setBackend('tftrt');
        const sums = places.map(({ tf }, i) => tf.add(tf.tensor([1, 2]), 10 * (i + 1)));
        for (const i of [0, 1, 0, 1]) console.log(places[i].tf.mul(sums[i], 2).dataSync().join());
        for (const { tf, tftrt } of places) {
          const x = tf.zeros([1, 16, 16, 3]);
          const graph = await tf.loadGraphModel(${MODEL});
          const saved = await tftrt.loadSavedModel(${SAVED_MODEL});
          const frozen = await tftrt.loadFrozenGraph(fs.readFileSync('${FROZEN_GRAPH}'), { outputs: ['probabilities'] });
          const error = await tftrt.loadSavedModel('/nowhere').catch((reason) => reason);
          console.log(
            [graph.predict(x), await graph.predictAsync(x), saved.predict(x)].map(({ shape }) => shape.join()).join(' '),
            frozen.inputs.length, error instanceof tftrt.TftrtError, error.code);
        }
        places[0].tf.engine().reset();
        console.log(places[1].tf.mul(sums[1], 3).dataSync().join());
        const node = make().load('tfjs-backend-tftrt/node');
        await node.ready();
        const png = Buffer.from(await node.node.encodePng(node.fill([2, 1, 3], 7, 'int32')));
        console.log(node.node.decodeImage(png).dataSync().join());
      })();`);
    expectLines(ended, [
      'true',
      ...['22,24', '42,44', '22,24', '42,44'],
      '1,10 1,10 1,10 2 true TFTRT_NOT_FOUND',
      '1,10 1,10 1,10 2 true TFTRT_NOT_FOUND',
      '63,66',
      '7,7,7,7,7,7',
    ]);
  });
});

describe('a vm context that is collected', function () {
  this.timeout(120_000);

  it('takes along what was not disposed of, and leaves no listeners', async () => {
    const ended = await runNode(`
      require('node:v8').setFlagsFromString('--expose-gc');
      const gc = require('node:vm').runInNewContext('gc');
      const { moduleLoader } = require('./dist-dev/test/process/in_context.js');
      let collected = 0;
      const registry = new FinalizationRegistry(() => collected++);
      const use = async () => {
        const load = moduleLoader(process.cwd() + '/package.json');
        const [tf, tftrt] = [load('@tensorflow/tfjs'), load('tfjs-backend-tftrt')];
        registry.register(tf.env());
        await tf.setBackend('tftrt');
        const model = await tf.loadGraphModel(${MODEL});
        model.predict(tf.zeros([1, 16, 16, 3]));
        for (let i = 0; i < 5; i++) model.predictAsync(tf.zeros([64, 16, 16, 3])); // nobody waits for them
        await tf.add(tf.ones([5e6]), 1).data();
        try { tf.gather(tf.ones([3]), [100]); } catch (error) { return error instanceof tftrt.TftrtError; }
      };
      (async () => {
        const errors = [];
        let first;
        for (let i = 0; i < 12; i++) {
          errors.push(await use());
          first ??= process.memoryUsage.rss();
          for (let turn = 0; turn < 3; turn++) {
            await new Promise((resolve) => setTimeout(resolve, 10));
            gc();
          }
        }
        const end = Date.now() + 10_000;
        while (collected < 11 && Date.now() < end) {
          await new Promise((resolve) => setTimeout(resolve, 10));
          gc();
        }
        // Each would leave 40 MB. AddressSanitizer keeps 256 MB of what is freed.
        const most = process.env.ASAN_OPTIONS ? 350 : 200;
        const grown = (process.memoryUsage.rss() - first) / 2 ** 20;
        console.log(errors.every(Boolean), collected >= 11, process.listenerCount('exit') < 2, grown < most || grown);
      })();`);
    expectLines(ended, ['true true true true']);
    expect(ended.stderr).not.to.include('MaxListenersExceededWarning');
  });
});

describe('the package loaded twice', function () {
  this.timeout(120_000);
  const temporaryFolder = useTemporaryFolder();

  /** Installs a second copy, next to the same tfjs. */
  function secondCopy(): string {
    const folder = path.join(temporaryFolder(), 'node_modules', 'tfjs-backend-tftrt');
    fs.cpSync(path.join(packageRoot, 'dist'), path.join(folder, 'dist'), { recursive: true });
    fs.copyFileSync(path.join(packageRoot, 'package.json'), path.join(folder, 'package.json'));
    fs.symlinkSync(path.join(packageRoot, 'node_modules'), path.join(folder, 'node_modules'));
    return folder;
  }

  const env = { TFTRT_ADDON_DIR: path.dirname(addonFile('tftrt')) };
  const linesOf = (text: string) =>
    withoutLinesOfCuda(text)
      .split('\n')
      .filter((line) => /tftrt|already|kernel/i.test(line));

  it('warns once, and both copies work', async () => {
    const folder = secondCopy();
    const ended = await runNode(
      `const tf = require('@tensorflow/tfjs');
      const copies = [require('tfjs-backend-tftrt'), require('${folder}'), require('${folder}/dist/node')];
      (async () => {
        await tf.setBackend('tftrt');
        console.log((await tf.add(1, 2).data()).join());
        for (const copy of copies.slice(0, 2)) {
          const x = tf.zeros([1, 16, 16, 3]);
          const graph = await tf.loadGraphModel(${MODEL});
          const saved = await copy.loadSavedModel(${SAVED_MODEL});
          const error = await copy.loadSavedModel('/nowhere').catch((reason) => reason);
          console.log(graph.predict(x).shape.join(), saved.predict(x).shape.join(), error instanceof copy.TftrtError);
        }
        console.log(copies[1].stats().programs === copies[0].stats().programs, copies[0].stats().programs);
        console.log(copies[2] === require('tfjs-backend-tftrt/node'));
        const png = await copies[2].node.encodePng(tf.fill([1, 1, 3], 7, 'int32'));
        console.log(copies[2].node.decodePng(png).dataSync().join());
      })();`,
      { env },
    );
    expectLines(ended, ['3', '1,10 1,10 true', '1,10 1,10 true', 'true 4', 'true', '7,7,7']);
    const warnings = linesOf(ended.stderr);
    expect(warnings).to.have.length(1);
    for (const part of ['loaded twice', packageRoot, folder, 'npm dedupe']) {
      expect(warnings[0]).to.include(part);
    }
  });

  it('gives the names to import', async () => {
    const folder = secondCopy();
    const ended = await runNode(
      `import * as first from 'tfjs-backend-tftrt';
      import * as second from '${folder}/dist/index.js';
      import { stats, loadFrozenGraph } from '${folder}/dist/index.js';
      import { node, setBackend, add } from '${folder}/dist/node/index.js';
      await setBackend('tftrt');
      console.log(add(1, 2).dataSync().join(), stats === first.stats, typeof loadFrozenGraph, typeof node.decodePng);
      console.log(Object.keys(first).every((name) => name === 'default' || name === 'module.exports' || first[name] === second[name]));`,
      { module: true, env },
    );
    expectLines(ended, ['3 true function function', 'true']);
  });

  it('says nothing where its modules are only loaded anew', async () => {
    const ended = await runNode(
      `require('tfjs-backend-tftrt');
      for (const file of Object.keys(require.cache)) delete require.cache[file];
      const tf = require('@tensorflow/tfjs');
      const tftrt = require('tfjs-backend-tftrt');
      tf.setBackend('tftrt').then(async () => {
        const model = await tf.loadGraphModel(${MODEL});
        console.log(model.predict(tf.zeros([1, 16, 16, 3])).shape.join(), tftrt.stats().programs);
      });`,
    );
    expectLines(ended, ['1,10 1']);
    expect(linesOf(ended.stderr).filter((line) => line.includes('tftrt'))).to.deep.equal([]);
  });
});
