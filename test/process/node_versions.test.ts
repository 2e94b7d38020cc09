import { execFile } from 'node:child_process';
import path from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '#src/setup/paths';
import { readFixture } from '../support/fixtures';
import { runNode } from './child';
import { otherNode } from './other_node';

const MODEL = `'file://${path.join(readFixture('graph_models', 'small_cnn').folder, 'model.json')}'`;

/** Ops, a graph model and an error, in the main thread or a worker. */
const WORK = `
  async function work(tf, tftrt) {
    await tf.setBackend('tftrt');
    const sum = (await tf.add([1, 2], 3).data()).join();
    const model = await tf.loadGraphModel(${MODEL});
    const x = tf.zeros([1, 16, 16, 3]);
    const shapes = [model.predict(x).shape, (await model.predictAsync(x)).shape].join(' ');
    let code;
    try { tftrt.configure({ device: 'cpu' }); } catch (error) { code = error instanceof tftrt.TftrtError && error.code; }
    return [sum, shapes, code].join(' ');
  }`;
const RESULT = '4,5 1,10 1,10 TFTRT_ALREADY_CONFIGURED';

/** What depends most on Node.js: its API for addons, modules, files and promises; and that set-up builds nothing anew for it. */
const FILES = [
  'backend/storage',
  'io/file_router',
  'models/graph_model',
  'native/addon',
  'node/replace',
  'setup/bootstrap',
  'setup/load_tensorflow',
];

/** The rest of the tests run with the Node.js that runs them. The addon is one for all versions: it uses Node-API only. */
describe('Node.js', () => {
  for (const major of [22, 24]) {
    describe(`${major}`, function () {
      this.timeout(300_000);
      let program: string;

      before(async function () {
        const found = await otherNode(major);
        if (found === undefined) this.skip();
        else program = found;
      });

      async function expectOutput(script: string, lines: string[], module = false): Promise<void> {
        const { stdout, stderr, ...end } = await runNode(script, { program, module });
        const output = stdout.trim().split('\n');
        expect({ ...end, output }, stderr).to.deep.equal({ code: 0, signal: null, output: lines });
        expect(stderr).not.to.match(/deprecat/i);
      }

      it('requires the package, computes and ends by itself', () =>
        expectOutput(
          `${WORK}
          work(require('@tensorflow/tfjs'), require('tfjs-backend-tftrt'))
            .then((result) => console.log(process.versions.node.split('.')[0] + '\\n' + result));`,
          [`${major}`, RESULT],
        ));

      it('imports the package', () =>
        expectOutput(
          `import * as tf from '@tensorflow/tfjs';
          import * as tftrt from 'tfjs-backend-tftrt';
          import { loadSavedModel } from 'tfjs-backend-tftrt';
          import { node } from 'tfjs-backend-tftrt/node';
          ${WORK}
          console.log(await work(tf, tftrt));
          console.log(typeof loadSavedModel, typeof node.decodeImage);`,
          [RESULT, 'function function'],
          true,
        ));

      it('uses it in workers', () => {
        const source = `${WORK}
          work(require('@tensorflow/tfjs'), require('tfjs-backend-tftrt'))
            .then((result) => require('node:worker_threads').parentPort.postMessage(result));`;
        return expectOutput(
          `const { Worker } = require('node:worker_threads');
          const run = () => new Promise((resolve, reject) => {
            const worker = new Worker(${JSON.stringify(source)}, { eval: true });
            let result;
            worker.on('message', (message) => { result = message; });
            worker.on('error', reject);
            worker.on('exit', (code) => resolve(result + ' ' + code));
          });
          (async () => {
            for (const result of [...await Promise.all([run(), run()]), await run()]) console.log(result);
          })();`,
          [`${RESULT} 0`, `${RESULT} 0`, `${RESULT} 0`],
        );
      });

      it('ends in the middle of asynchronous work', () =>
        expectOutput(
          `const tf = require('@tensorflow/tfjs');
          require('tfjs-backend-tftrt');
          tf.setBackend('tftrt').then(async () => {
            const model = await tf.loadGraphModel(${MODEL});
            for (let i = 0; i < 20; i++) model.predictAsync(tf.zeros([64, 16, 16, 3]));
            tf.add(tf.ones([5e6]), 1).data();
            await new Promise((resolve) => setTimeout(resolve, 5));
            console.log('ends');
            process.exit(0);
          });`,
          ['ends'],
        ));

      it('passes tests of all kinds', async () => {
        const inside = (...names: string[]) => path.join(packageRoot, ...names);
        const files = FILES.map((name) => inside('dist-dev/test', `${name}.test.js`));
        const options = ['--expose-gc', inside('node_modules/mocha/bin/mocha.js'), '--timeout', '60000'];
        const { code, stdout } = await run(program, [...options, ...files]);
        expect(code, stdout).to.equal(0);
        expect(Number(/(\d+) passing/.exec(stdout)?.[1])).to.be.above(100);
      });
    });
  }
});

function run(program: string, args: readonly string[]): Promise<{ code: number | null; stdout: string }> {
  return new Promise((resolve) => {
    const child = execFile(program, args, { cwd: packageRoot, maxBuffer: 2 ** 26 }, (_, stdout) =>
      resolve({ code: child.exitCode, stdout }),
    );
  });
}
