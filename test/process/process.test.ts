import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { locateTensorFlow, packageRoot } from '#src/setup/paths';
import { readFixture } from '../support/fixtures';
import { type Ended, runNode, withoutLinesOfCuda } from './child';

const MODEL = JSON.stringify(
  `file://${path.join(readFixture('graph_models', 'small_cnn').folder, 'model.json')}`,
);

function expectSuccess({ code, signal, stdout, stderr }: Ended, output: string): void {
  expect({ code, signal, stdout: stdout.trim() }, stderr).to.deep.equal({
    code: 0,
    signal: null,
    stdout: output,
  });
}

/** A program that terminates workers, each at its message or so many milliseconds later, and prints an expression's value. */
function oneWorkerAfterAnother(work: string, pauses: readonly number[], printed: string): string {
  return `
    const { Worker } = require('node:worker_threads');
    (async () => {
      for (const pause of ${JSON.stringify(pauses)}) {
        const worker = new Worker(${JSON.stringify(work)}, { eval: true });
        await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
        if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
        await worker.terminate();
      }
      console.log(${printed});
    })();`;
}

/** What concerns a whole process: how it loads the package, its threads, and how it ends. */
describe('processes', function () {
  this.timeout(180_000);

  it('require the package, and end by themselves', async () => {
    const ended = await runNode(`
      const tf = require('@tensorflow/tfjs');
      require('tfjs-backend-tftrt');
      tf.setBackend('tftrt').then(async () => {
        const model = await tf.loadGraphModel(${MODEL});
        console.log(model.predict(tf.zeros([1, 16, 16, 3])).shape.join(), tf.getBackend());
      });`);
    expectSuccess(ended, '1,10 tftrt');
  });

  it('import the package', async () => {
    const ended = await runNode(
      `import * as tf from '@tensorflow/tfjs';
      import { loadGraphModel } from '@tensorflow/tfjs-converter';
      import * as tftrt from 'tfjs-backend-tftrt';
      import { stats, TftrtError } from 'tfjs-backend-tftrt';
      await tf.setBackend('tftrt');
      const model = await loadGraphModel(${MODEL});
      tf.dispose(model.predict(tf.zeros([1, 16, 16, 3])));
      console.log(stats().programs, tftrt.stats === stats, typeof TftrtError);`,
      { module: true },
    );
    expectSuccess(ended, '1 true function');
  });

  it('are quiet', async () => {
    const { stdout, stderr } = await runNode(`
      const tf = require('@tensorflow/tfjs-core');
      const { stats } = require('tfjs-backend-tftrt');
      tf.setBackend('tftrt').then(() => {
        tf.add(1, 2).dataSync();
        console.log(stats().device);
      });`);
    const onGpu = /device:GPU:\d+\s*$/.test(stdout);
    expect(onGpu ? withoutLinesOfCuda(stderr) : stderr).to.equal('');
  });

  it('have one exception for a missing TensorFlow, and no other backend', async () => {
    const { stdout } = await runNode(
      `const tf = require('@tensorflow/tfjs');
      require('tfjs-backend-tftrt');
      (async () => {
        for (let i = 0; i < 2; i++) {
          try {
            await tf.setBackend('tftrt');
            tf.add(1, 2).dataSync();
            console.log('computed on', tf.getBackend());
          } catch (error) {
            console.log(error.code, error.message.includes('libtensorflow_cc.so.2'), error.message.includes('npx tftrt install'));
          }
        }
      })();`,
      { env: { TFTRT_TENSORFLOW: '', TFTRT_CACHE_DIR: '/nowhere' } },
    );
    const lines = stdout.split('\n').filter((line) => /TFTRT|computed/.test(line));
    expect(lines).to.deep.equal(['TFTRT_TENSORFLOW_MISSING true true', 'TFTRT_TENSORFLOW_MISSING true true']);
  });

  describe('without TensorFlow', () => {
    /** Runs code that has `report(work)`, and returns what it reported: codes of exceptions, or results. */
    async function reports(code: string, entry = 'tfjs-backend-tftrt'): Promise<string[]> {
      const {
        code: exit,
        stdout,
        stderr,
      } = await runNode(
        `const tf = require('@tensorflow/tfjs');
        const entry = require('${entry}');
        const report = async (work) => {
          try {
            console.log('got', await work());
          } catch ({ code, message }) {
            console.log('got', code ?? message);
          }
        };
        (async () => { ${code} })();`,
        { env: { TFTRT_TENSORFLOW: '', TFTRT_CACHE_DIR: '/nowhere' } },
      );
      expect(exit, stderr).to.equal(0);
      return [...stdout.matchAll(/^got (.*)$/gm)].map(([, got]) => got!);
    }
    const MISSING = 'TFTRT_TENSORFLOW_MISSING';
    const add = 'await report(() => tf.add(1, 2).dataSync()[0]);';

    it('setBackend rejects, each time, and nothing else computes', async () => {
      const set = "await report(() => tf.setBackend('tftrt'));";
      expect(await reports(`${set} ${add} ${set} ${add}`)).to.deep.equal([
        MISSING,
        MISSING,
        MISSING,
        MISSING,
      ]);
    });

    it('ready rejects', async () => {
      expect(await reports(`await report(() => tf.ready()); ${add}`)).to.deep.equal([MISSING, MISSING]);
    });

    const ready = 'await report(() => tf.ready());';

    it('ready rejects after setBackend did, and after an op, each time', async () => {
      const set = "await report(() => tf.setBackend('tftrt'));";
      expect(await reports(`${set} ${ready} ${ready}`)).to.deep.equal([MISSING, MISSING, MISSING]);
      expect(await reports(`${add} await new Promise(setImmediate); ${ready}`)).to.deep.equal([
        MISSING,
        MISSING,
      ]);
    });

    it("ready rejects with tfjs-node's stand-in, under both names of the backend", async () => {
      const set = "await report(() => tf.setBackend('tensorflow'));";
      expect(await reports(`${ready} ${set} ${ready}`, 'tfjs-backend-tftrt/node')).to.deep.equal([
        MISSING,
        MISSING,
        MISSING,
      ]);
      expect(await reports(`${ready}`, './dist/node/tfjs_node.js')).to.deep.equal([MISSING]);
    });

    it('ready is that of another backend that is in use, and that of tfjs where TensorFlow is there by then', async () => {
      const { home } = locateTensorFlow();
      const set = (name: string) => `await report(() => tf.setBackend('${name}'));`;
      const mend = `process.env.TFTRT_TENSORFLOW = ${JSON.stringify(home)}; tf.engine().reset();`;
      expect(
        await reports(`${set('tftrt')} ${set('cpu')} ${ready} ${set('tftrt')} ${mend} ${ready} ${add}`),
      ).to.deep.equal([MISSING, 'true', 'undefined', MISSING, 'undefined', '3']);
    });

    it('the first use throws, and the process goes on, also with another backend', async () => {
      const other = "await report(() => tf.setBackend('cpu'));";
      expect(await reports(`${add} await new Promise(setImmediate); ${other} ${add}`)).to.deep.equal([
        MISSING,
        'true',
        '3',
      ]);
    });

    it("tfjs-node's stand-in can be imported", async () => {
      const set = "await report(() => tf.setBackend('tensorflow'));";
      expect(await reports(`${add} ${set}`, 'tfjs-backend-tftrt/node')).to.deep.equal([MISSING, MISSING]);
    });

    it('a backend is made anew where TensorFlow is there by then', async () => {
      const { home } = locateTensorFlow();
      const set = "await report(() => tf.setBackend('tftrt'));";
      const code = `${set} process.env.TFTRT_TENSORFLOW = ${JSON.stringify(home)}; tf.engine().reset(); ${set} ${add}`;
      expect(await reports(code)).to.deep.equal([MISSING, 'true', '3']);
    });
  });

  it('leave no tensors behind when tfjs resets its engine, and forget ops whose attributes vary', async () => {
    const ended = await runNode(`
      const tf = require('@tensorflow/tfjs');
      const tftrt = require('tfjs-backend-tftrt');
      (async () => {
        await tf.setBackend('tftrt');
        const x = tf.tensor1d([-1]);
        for (let i = 1; i < 5000; i++) tf.leakyRelu(x, i / 1e6).dispose();
        const few = tftrt.stats().preparedOps < 4200;
        const right = Math.abs(tf.leakyRelu(x, 0.5).dataSync()[0] + 0.5) < 1e-6;
        tf.neg(tf.ones([1000]));
        const backend = tf.backend();
        backend.hold(x); // as what goes on in the background does
        tf.engine().reset();
        backend.letGo(x);
        console.log(few, right, tftrt.stats().tensors);
        await tf.setBackend('tftrt');
        console.log(tf.add(1, 2).dataSync()[0]);
      })();`);
    expectSuccess(ended, 'true true 0\n3');
  });

  it('are refused memory at once where it is there in pieces only', async () => {
    const ended = await runNode(
      `
      const tf = require('@tensorflow/tfjs');
      require('tfjs-backend-tftrt');
      tf.setBackend('tftrt').then(() => {
        const fill = (mebibytes) => tf.fill([mebibytes, 2 ** 18], 1);
        const parts = Array.from({ length: 14 }, () => fill(16));
        parts.forEach((part, i) => { if (i % 2 === 0) part.dispose(); });
        const begun = performance.now();
        try { fill(100); console.log('given'); } catch ({ code }) { console.log(code); }
        console.log(performance.now() - begun < 5000, fill(1).size);
      });`,
      {
        env: {
          TF_MKL_ALLOC_MAX_BYTES: String(256 * 2 ** 20),
          TF_ENABLE_ONEDNN_OPTS: '1', // on any processor
          TFTRT_DEVICE: 'cpu',
        },
      },
    );
    expectSuccess(ended, 'TFTRT_RESOURCE_EXHAUSTED\ntrue 262144');
  });

  it('refuse a late or wrong configuration', async () => {
    const ended = await runNode(`
      const tf = require('@tensorflow/tfjs-core');
      const tftrt = require('tfjs-backend-tftrt');
      const codes = [];
      const attempt = (options) => { try { tftrt.configure(options); codes.push('ok'); } catch (error) { codes.push(error.code); } };
      attempt({ device: 'tpu' });
      attempt({ perProcessGpuMemoryFraction: 2 });
      attempt({ nonsense: 1 });
      attempt({ allowBuildAtRuntime: 'yes' });
      attempt({ useCalibration: 1 });
      attempt(new Map([['device', 'cpu']]));
      attempt({ device: 'cpu', intraOpParallelismThreads: 1 });
      tf.setBackend('tftrt').then(() => {
        tf.add(1, 2).dataSync();
        attempt({ device: 'cpu' });
        attempt({ memoryLimitBytes: 10n });
        console.log(codes.join(' '));
      });`);
    expectSuccess(
      ended,
      `${'TFTRT_INVALID_ARGUMENT '.repeat(6)}ok TFTRT_ALREADY_CONFIGURED TFTRT_ALREADY_CONFIGURED`,
    );
  });

  it("say that the import of tfjs-node's stand-in came before configure, and how to call it in time", async () => {
    const late = await runNode(
      `import 'tfjs-backend-tftrt/node';
      import { configure } from 'tfjs-backend-tftrt';
      try { configure({ intraOpParallelismThreads: 1 }); } catch ({ code, message }) { console.log(code, message); }`,
      { module: true },
    );
    expect(late.stdout)
      .to.match(/^TFTRT_ALREADY_CONFIGURED /)
      .and.include('The import of tfjs-backend-tftrt/node was that use')
      .and.include('a module of its own that is imported first');
    const own =
      "import { configure } from 'tfjs-backend-tftrt'; configure({ intraOpParallelismThreads: 1 });";
    const folder = fs.mkdtempSync(path.join(packageRoot, 'dist-dev', 'configure-'));
    try {
      fs.writeFileSync(path.join(folder, 'configure.mjs'), own);
      fs.writeFileSync(
        path.join(folder, 'app.mjs'),
        `import './configure.mjs';
        import * as tf from 'tfjs-backend-tftrt/node';
        console.log(tf.backend().runtime.configuration.intraOpParallelismThreads);`,
      );
      expectSuccess(await runNode(`import('${folder}/app.mjs');`), '1');
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });

  it('say that the backend was removed', async () => {
    const ended = await runNode(`
      const tf = require('@tensorflow/tfjs');
      const { loadSavedModel } = require('tfjs-backend-tftrt');
      tf.setBackend('tftrt').then(async () => {
        const model = await loadSavedModel(${JSON.stringify(readFixture('saved_models', 'keras_cnn').folder)});
        tf.removeBackend('tftrt');
        await tf.setBackend('cpu');
        try { model.predict(tf.zeros([1, 16, 16, 3])); } catch ({ code, message }) { console.log(code, message); }
      });`);
    expect(ended.stdout, ended.stderr)
      .to.match(/^TFTRT_NOT_REGISTERED /)
      .and.include("The backend 'tftrt' was removed by tf.removeBackend('tftrt')");
  });

  describe('with threads and contexts', () => {
    const report = `
      const report = (place, work) => work.then((got) => console.log(place, got), ({ code, message }) => console.log(place, code, message));`;
    /** What a thread does: `configure` with options, if any, and compute. */
    const use = (options: string) => `
      const use = async (tf, tftrt) => {
        if (${options}) tftrt.configure(${options});
        await tf.setBackend('tftrt');
        return tf.add(1, 2).dataSync()[0];
      };`;
    const inWorker = (options: string) => `
      (() => {
        const { Worker } = require('node:worker_threads');
        const source = ${JSON.stringify(`${use(options)}
          const { parentPort } = require('node:worker_threads');
          use(require('@tensorflow/tfjs'), require('tfjs-backend-tftrt')).then(
            (got) => parentPort.postMessage({ got }), ({ code, message }) => parentPort.postMessage({ code, message }));`)};
        return new Promise((resolve, reject) => {
          new Worker(source, { eval: true }).on('error', reject)
            .on('message', ({ got, ...error }) => (error.code ? reject(error) : resolve(got)));
        });
      })()`;
    const linesOf = async (code: string) => {
      const { stdout, stderr, code: exit } = await runNode(`${report} (async () => { ${code} })();`);
      expect(exit, stderr).to.equal(0);
      return stdout.trim().split('\n');
    };
    const here = "require('@tensorflow/tfjs'), require('tfjs-backend-tftrt')";

    it('one that configures nothing uses the devices that are there', async () => {
      const lines = await linesOf(`
        ${use('{ intraOpParallelismThreads: 2, graphArenaBytes: 0 }')}
        await report('main', use(${here}));
        await report('worker', ${inWorker('undefined')});
        const load = require('./dist-dev/test/process/in_context.js').moduleLoader(process.cwd() + '/package.json');
        const tf = load('@tensorflow/tfjs');
        load('tfjs-backend-tftrt');
        await report('context', tf.setBackend('tftrt').then(() => tf.add(1, 2).dataSync()[0]));`);
      expect(lines).to.deep.equal(['main 3', 'worker 3', 'context 3']);
    });

    it('the first may be a worker that is gone, and several may start at once', async () => {
      const options = '{ intraOpParallelismThreads: 2 }';
      const lines = await linesOf(`
        ${use('undefined')}
        await report('first', ${inWorker(options)});
        await new Promise((resolve) => setTimeout(resolve, 200));
        await Promise.all([
          report('one', ${inWorker('undefined')}), report('two', ${inWorker(options)}), report('main', use(${here})),
        ]);`);
      expect(lines.sort()).to.deep.equal(['first 3', 'main 3', 'one 3', 'two 3']);
    });

    it('another choice is an error that names the option; what concerns builds alone is none', async () => {
      const lines = await linesOf(`
        ${use("{ device: 'cpu', intraOpParallelismThreads: 2 }")}
        await report('main', use(${here}));
        await report('threads', ${inWorker('{ intraOpParallelismThreads: 1 }')});
        await report('device', ${inWorker("{ device: 'gpu:1' }")});
        await report('build', ${inWorker("{ device: 'cpu', precision: 'FP16', minimumSegmentSize: 5 }")});`);
      expect(lines).to.have.length(4);
      expect(lines[0]).to.equal('main 3');
      expect(lines[1])
        .to.match(/^threads TFTRT_ALREADY_CONFIGURED /)
        .and.include('intraOpParallelismThreads is 1 here and 2 there.');
      expect(lines[2])
        .to.match(/^device TFTRT_ALREADY_CONFIGURED /)
        .and.include('devices is ["gpu:1"] here and ["cpu"] there.');
      expect(lines[3]).to.equal('build 3');
    });

    it('one that could not start leaves the choice to the next', async () => {
      const { home } = locateTensorFlow();
      const lines = await linesOf(`
        process.env.TFTRT_TENSORFLOW = ${JSON.stringify(home)};
        const tf = require('@tensorflow/tfjs');
        const tftrt = require('tfjs-backend-tftrt');
        tftrt.configure({ device: 'gpu:77', intraOpParallelismThreads: 1 });
        await tf.setBackend('tftrt').catch(({ code }) => console.log(code.startsWith('TFTRT_')));
        await report('worker', ${inWorker("{ device: 'cpu' }")});`);
      // On a machine with a GPU the devices are made, though without that one.
      expect(lines[0]).to.equal('true');
      expect(lines[1]).to.match(/^worker (3|TFTRT_ALREADY_CONFIGURED .*devices is \["cpu"\] here)/);
    });
  });

  it('name the option of configure that is of the wrong kind', async () => {
    const wrong: Array<[given: string, text: string]> = [
      ['undefined', 'configure takes its options as an object, got undefined; expected'],
      ["'cpu'", "configure takes its options as an object, got 'cpu'; expected"],
      ["['cpu']", "configure takes its options as an object, got [ 'cpu' ]; expected"],
      ['7', 'got 7; expected'],
      ['{ toString: 1 }', "configure has no option 'toString'; expected one of device,"],
      ["{ perProcessGpuMemoryFraction: '0.5' }", "perProcessGpuMemoryFraction is '0.5'; expected a number"],
      ['{ memoryLimitBytes: 1n }', 'memoryLimitBytes is 1n; expected a whole number from 1 to'],
      ["{ memoryLimitBytes: '1' }", "memoryLimitBytes is '1'; expected"],
      ['{ maxWorkspaceSizeBytes: 2 ** 80 }', 'maxWorkspaceSizeBytes is 1.2'],
      ['{ intraOpParallelismThreads: 1e6 }', 'is 1000000; expected a whole number from 1 to 1024.'],
      ['{ minimumSegmentSize: 2 ** 31 }', 'expected a whole number from 3 to 2147483647.'],
    ];
    const attempts = wrong.map(([given]) => `attempt(${given});`).join('');
    const { stdout } = await runNode(`
      const { configure } = require('tfjs-backend-tftrt');
      const attempt = (options) => {
        try { configure(options); console.log('taken'); } catch ({ code, message }) { console.log(code, message); }
      };
      ${attempts}`);
    const lines = stdout.trim().split('\n');
    wrong.forEach(([, text], i) => {
      expect(lines[i])
        .to.match(/^TFTRT_INVALID_ARGUMENT /)
        .and.include(text);
    });
  });

  it('refuse a GPU that is asked for and not there', async () => {
    const { stdout } = await runNode(
      `const tf = require('@tensorflow/tfjs-core');
      require('tfjs-backend-tftrt');
      tf.setBackend('tftrt').then(() => tf.add(1, 2)).catch((error) => console.log(error.code));`,
      { env: { TFTRT_DEVICE: 'gpu', CUDA_VISIBLE_DEVICES: '' } },
    );
    expect(stdout).to.include('TFTRT_GPU_UNAVAILABLE');
  });

  const WORKER = `
    const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
    const source = \`
      const { parentPort, workerData } = require('node:worker_threads');
      const tf = require('@tensorflow/tfjs');
      const tftrt = require('tfjs-backend-tftrt');
      (async () => {
        await tf.setBackend('tftrt');
        const model = await tf.loadGraphModel(${MODEL.replaceAll('"', "'")});
        const x = tf.fill([1, 16, 16, 3], workerData);
        let sum = 0;
        for (let i = 0; i < 50; i++) {
          const y = i % 2 ? model.predict(x) : await model.predictAsync(x);
          sum = tf.tidy(() => y.sum().dataSync()[0]);
          y.dispose();
        }
        let code;
        // On a GPU, what goes on in the background holds the program and its inputs for a while.
        const held = () => tftrt.stats().programs + tftrt.stats().tensors;
        const released = async () => { for (let i = 0; i < 1000 && held() > 0; i++) await new Promise((next) => setTimeout(next, 10)); };
        try { model.predict(tf.zeros([2])); } catch (error) { code = error.message.includes('image'); }
        model.dispose();
        x.dispose();
        await released();
        const { programs, callables, tensors } = tftrt.stats();
        parentPort.postMessage([sum.toFixed(3), code, programs, callables, tensors].join());
      })();\`;
    const run = (value) => new Promise((resolve, reject) => {
      const worker = new Worker(source, { eval: true, workerData: value });
      let message;
      worker.on('message', (text) => { message = text; });
      worker.on('error', reject);
      worker.on('exit', (code) => resolve(message + ' ' + code));
    });`;

  it('use it in several threads at once, and one after the other', async () => {
    const ended = await runNode(`${WORKER}
      (async () => {
        const results = [...await Promise.all([run(0.1), run(0.2), run(0.3)]), await run(0.4), await run(0.5)];
        console.log([...new Set(results)].join('|'));
      })();`);
    expectSuccess(ended, '1.000,true,0,0,0 0');
  });

  it('use it in the main thread and in a worker', async () => {
    const ended = await runNode(`${WORKER}
      const tf = require('@tensorflow/tfjs');
      require('tfjs-backend-tftrt');
      tf.setBackend('tftrt').then(async () => {
        const x = tf.add(1, 2);
        const result = await run(0.1);
        console.log(x.dataSync()[0], result);
      });`);
    expectSuccess(ended, '3 1.000,true,0,0,0 0');
  });

  it('may end in the middle of asynchronous work', async () => {
    for (const end of ['process.exit(0)', 'worker.terminate()']) {
      const work = `
        const tf = require('@tensorflow/tfjs');
        require('tfjs-backend-tftrt');
        tf.setBackend('tftrt').then(async () => {
          const model = await tf.loadGraphModel(${MODEL.replaceAll('"', "'")});
          const x = tf.zeros([64, 16, 16, 3]);
          for (let i = 0; i < 20; i++) model.predictAsync(x);
          tf.add(tf.ones([5e6]), 1).data();
          await new Promise((resolve) => setTimeout(resolve, 20));
          READY;
        });`;
      const ended = await runNode(
        end === 'process.exit(0)'
          ? work.replace('READY', end)
          : `const { Worker } = require('node:worker_threads');
             const worker = new Worker(${JSON.stringify(work.replace('READY', "require('node:worker_threads').parentPort.postMessage(1)"))}, { eval: true });
             worker.on('message', () => worker.terminate());`,
      );
      expectSuccess(ended, '');
    }
  });

  it('give the backend to one worker after another', async () => {
    // The addon is unloaded with a worker unless it says otherwise; TensorFlow's threads still use its code.
    const work = `
      const tf = require('@tensorflow/tfjs');
      require('tfjs-backend-tftrt');
      tf.setBackend('tftrt').then(async () => {
        const model = await tf.loadGraphModel(${MODEL.replaceAll('"', "'")});
        for (let i = 0; i < 20; i++) model.predictAsync(tf.zeros([64, 16, 16, 3]));
        tf.add(tf.ones([5e6]), 1).data();
        await new Promise((resolve) => setTimeout(resolve, 20));
        require('node:worker_threads').parentPort.postMessage(1);
      });`;
    const mapped = `require('node:fs').readFileSync('/proc/self/maps', 'utf8').includes('/tftrt.node')`;
    expectSuccess(await runNode(oneWorkerAfterAnother(work, [0, 0, 0, 0, 0], mapped)), 'true');
  });

  it('end workers in the middle of their work', async () => {
    // In a worker that is being terminated, calls of Node-API that need JavaScript fail, also those that make errors.
    const work = `
      const tf = require('@tensorflow/tfjs');
      require('tfjs-backend-tftrt');
      tf.setBackend('tftrt').then(async () => {
        const model = await tf.loadGraphModel(${MODEL.replaceAll('"', "'")});
        const image = tf.zeros([1, 16, 16, 3]);
        const [values, wrong] = [tf.ones([3]), tf.concat([tf.zeros([1e6], 'int32'), [100]])];
        const predict = async () => {
          for (;;) (await model.predictAsync(image)).dispose();
        };
        const fail = () => {
          try { tf.gather(values, wrong); } catch {}
          setImmediate(fail);
        };
        for (let i = 0; i < 8; i++) predict();
        fail();
        require('node:worker_threads').parentPort.postMessage(1);
      });`;
    const pauses = Array.from({ length: 30 }, (_, i) => i);
    expectSuccess(await runNode(oneWorkerAfterAnother(work, pauses, `'ended'`)), 'ended');
  });

  it('are told of results while clocks stand still, as test runners have them, from before the backend is made', async () => {
    const ended = await runNode(`
      const timers = require('node:timers');
      const tf = require('@tensorflow/tfjs');
      require('tfjs-backend-tftrt');
      for (const name of ['setImmediate', 'setTimeout']) globalThis[name] = timers[name] = () => ({});
      tf.setBackend('tftrt').then(async () => {
        const model = await tf.loadGraphModel(${MODEL});
        const y = await model.predictAsync(tf.zeros([1, 16, 16, 3]));
        console.log((await y.data()).length, (await tf.add(tf.ones([1e5]), 1).data())[0]);
      });`);
    expectSuccess(ended, '10 2');
  });

  it('wait for asynchronous work before they end', async () => {
    const ended = await runNode(`
      const tf = require('@tensorflow/tfjs');
      require('tfjs-backend-tftrt');
      tf.setBackend('tftrt').then(async () => {
        const model = await tf.loadGraphModel(${MODEL});
        model.predictAsync(tf.zeros([1, 16, 16, 3])).then((y) => console.log(y.shape.join()));
      });`);
    expectSuccess(ended, '1,10');
  });
});
