import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import { DT } from '#src/dtypes';
import { TftrtError } from '#src/errors';
import { type NativeAddon, nativeRuntime } from '#src/native';
import { runNode } from '../process/child';
import { readFixture } from '../support/fixtures';
import { errorOf } from '../support/tftrt';

/** Every function of the addon: that it works, and that no misuse brings the process down. */
describe('the addon', () => {
  let addon: NativeAddon;
  const commands = () => nativeRuntime().commands;
  before(() => {
    addon = nativeRuntime().addon;
  });

  /** Calls with these numbers in the command buffer. */
  const given = <T>(numbers: number[], call: () => T): T => {
    commands().set(numbers);
    return call();
  };
  const tensor = (values: number[], shape = [values.length]) => {
    commands().set(shape);
    return addon.createTensor(DT.FLOAT, shape.length, new Float32Array(values));
  };
  const read = (handle: number, size: number) => {
    const values = new Float32Array(size);
    addon.readTensor(handle, values);
    return Array.from(values);
  };
  const graph = (op = 'Relu') =>
    JSON.stringify({
      node: [
        { name: 'x', op: 'Placeholder', attr: { dtype: { type: 'DT_FLOAT' } } },
        { name: 'y', op, input: ['x'], attr: { T: { type: 'DT_FLOAT' } } },
        {
          name: 'w',
          op: 'Const',
          attr: { dtype: { type: 'DT_INT64' }, value: { tensor: { dtype: 'DT_INT64' } } },
        },
      ],
      versions: { producer: 1900 },
    });
  const weights: [string[], number[], number[][], Int32Array[]] = [
    ['w'],
    [DT.INT32],
    [[2]],
    [new Int32Array([-1, 2 ** 31 - 1])],
  ];
  const config = '{"deviceCount":{"GPU":0}}';
  /** What is alive. On a GPU there are also figures that only grow. */
  const counts = () => {
    const { tensors, tensorBytes, programs, callables, graphs, capturedGraphs, preparedOps } = addon.stats();
    return { tensors, tensorBytes, programs, callables, graphs, capturedGraphs, preparedOps };
  };

  async function expectCode(code: string, misuse: () => unknown): Promise<void> {
    const error = await errorOf(misuse).catch(() => undefined);
    expect(error?.code, String(misuse)).to.equal(code);
  }

  describe('tensors', () => {
    it('are made, read, reshaped and released', async () => {
      const handle = tensor([1, 2, 3, 4], [2, 2]);
      expect(read(handle, 4)).to.deep.equal([1, 2, 3, 4]);
      expect(addon.tensorOnDevice(handle)).to.equal(addon.onDevice(DT.FLOAT));
      commands()[0] = 4;
      const flat = addon.reshapeTensor(handle, 1);
      addon.releaseTensor(handle);
      const values = new Float32Array(4);
      await addon.readTensorAsync(flat, values);
      expect(Array.from(values)).to.deep.equal([1, 2, 3, 4]);
      addon.releaseTensor(flat);
    });

    it('are made off the event loop', async () => {
      commands()[0] = 3;
      const making = addon.createTensorAsync(DT.FLOAT, 1, new Float32Array([5, 6, 7]));
      commands()[0] = 99;
      const handle = await making;
      expect(read(handle, 3)).to.deep.equal([5, 6, 7]);
      addon.releaseTensor(handle);
    });

    it('hold strings of any bytes', () => {
      const strings = [new Uint8Array([0, 255, 10]), new Uint8Array(0), Buffer.from('日本')];
      commands()[0] = 3;
      const handle = addon.createStringTensor(1, strings);
      expect(addon.readStringTensor(handle).map((text) => Array.from(text))).to.deep.equal(
        strings.map((text) => Array.from(text)),
      );
      addon.releaseTensor(handle);
    });

    it('refuse what does not fit', async () => {
      const handle = tensor([1, 2]);
      const misuses: Array<[string, () => unknown]> = [
        ['TFTRT_INVALID_ARGUMENT', () => tensor([1, 2, 3], [2])],
        ['TFTRT_INVALID_ARGUMENT', () => tensor([1], [-1])],
        ['TFTRT_INVALID_ARGUMENT', () => addon.createTensor(DT.FLOAT, 1, [1] as never)],
        ['TFTRT_INVALID_ARGUMENT', () => addon.createTensor(12345, 0, new Float32Array(1))],
        ['TFTRT_INVALID_ARGUMENT', () => addon.createTensor(DT.STRING, 0, new Float32Array(1))],
        ['TFTRT_INVALID_ARGUMENT', () => addon.createTensor(DT.RESOURCE, 0, new Float32Array(1))],
        ['TFTRT_INVALID_ARGUMENT', () => addon.createTensor(DT.FLOAT, 1e9, new Float32Array(1))],
        ['TFTRT_INVALID_ARGUMENT', () => addon.createTensor(DT.FLOAT, -1, new Float32Array(1))],
        ['TFTRT_INVALID_ARGUMENT', () => addon.readTensor(handle, new Float32Array(1))],
        ['TFTRT_INVALID_ARGUMENT', () => addon.readTensorAsync(handle, new Float32Array(3))],
        ['TFTRT_INVALID_ARGUMENT', () => addon.readStringTensor(handle)],
        ['TFTRT_INVALID_ARGUMENT', () => addon.createStringTensor(0, [])],
        ['TFTRT_INVALID_ARGUMENT', () => addon.createStringTensor(0, [5] as never)],
        ['TFTRT_INVALID_ARGUMENT', () => given([3], () => addon.reshapeTensor(handle, 1))],
        ['TFTRT_INVALID_HANDLE', () => addon.releaseTensor(0)],
        ['TFTRT_INVALID_HANDLE', () => addon.releaseTensor(-7)],
        ['TFTRT_INVALID_HANDLE', () => addon.releaseTensor(2 ** 31 - 1)],
        ['TFTRT_INVALID_ARGUMENT', () => addon.releaseTensor('x' as never)],
        ['TFTRT_INVALID_ARGUMENT', () => (addon.releaseTensor as () => void)()],
      ];
      for (const [code, misuse] of misuses) await expectCode(code, misuse);
      addon.releaseTensor(handle);
      expect((await errorOf(() => addon.releaseTensor(handle))).code, 'twice').to.equal(
        'TFTRT_INVALID_HANDLE',
      );
    });

    it('refuse more memory than there is', async () => {
      // 2^20 · 2^20 · 2^10 elements: no allocation, and no overflow on the way to the error.
      commands().set([2 ** 20, 2 ** 20, 2 ** 10, 2 ** 20]);
      const error = await errorOf(() => addon.createTensor(DT.FLOAT, 4, new Float32Array(1)));
      expect(error.code).to.match(/^TFTRT_/);
    });
  });

  describe('eager ops', () => {
    it('run', () => {
      const add = addon.prepareOp(JSON.stringify({ op: 'AddV2' }));
      const x = tensor([1, 2]);
      commands().set([x, x]);
      expect(addon.execute(add, 2)).to.equal(1);
      expect(Array.from(commands().subarray(1, 4))).to.deep.equal([DT.FLOAT, 1, 2]);
      const sum = commands()[0]!;
      expect(read(sum, 2)).to.deep.equal([2, 4]);
      addon.releaseTensor(sum);
      addon.releaseTensor(x);
    });

    it('are forgotten, and refused then', async () => {
      // In a thread of its own: this one's backend knows its ops by their ids.
      const ended = await runNode(`
        const { nativeRuntime } = require('#src/native');
        const { addon, commands } = nativeRuntime();
        const add = addon.prepareOp(JSON.stringify({ op: 'AddV2' }));
        commands.set([2]);
        const x = addon.createTensor(1, 1, new Float32Array([1, 2]));
        addon.forgetOps();
        try { addon.execute(add, 1); } catch (error) { console.log(error.code); }
        addon.releaseAllTensors();
        console.log(addon.stats().tensors, addon.stats().tensorBytes);
        try { addon.releaseTensor(x); } catch (error) { console.log(error.code); }`);
      expect(ended.stdout, ended.stderr).to.equal('TFTRT_INVALID_ARGUMENT\n0 0\nTFTRT_INVALID_HANDLE\n');
    });

    it('are described by TensorFlow', () => {
      expect(JSON.parse(addon.opDefinition('Relu')!).name).to.equal('Relu');
      expect(addon.opDefinition('NoSuchOp')).to.equal(undefined);
    });

    it('refuse misuse, and release their inputs', async () => {
      const relu = addon.prepareOp(JSON.stringify({ op: 'Relu' }));
      const x = tensor([1, 2]);
      const misuses: Array<[string, () => unknown]> = [
        ['TFTRT_NOT_FOUND', () => addon.prepareOp(JSON.stringify({ op: 'NoSuchOp' }))],
        [
          'TFTRT_INVALID_ARGUMENT',
          () => addon.prepareOp(JSON.stringify({ op: 'Relu', attr: { nope: { i: '1' } } })),
        ],
        ['TFTRT_INVALID_ARGUMENT', () => addon.prepareOp('{')],
        ['TFTRT_INVALID_ARGUMENT', () => addon.prepareOp(undefined as never)],
        ['TFTRT_INVALID_ARGUMENT', () => addon.execute(1e9, 0)],
        ['TFTRT_INVALID_ARGUMENT', () => addon.execute(-1, 0)],
        ['TFTRT_INVALID_ARGUMENT', () => addon.execute(relu, -1)],
        ['TFTRT_INVALID_ARGUMENT', () => addon.execute(relu, 2 ** 30)],
        ['TFTRT_INVALID_HANDLE', () => given([-5], () => addon.execute(relu, 1))],
        ['TFTRT_INVALID_ARGUMENT', () => addon.execute(relu, 0)],
      ];
      for (const [code, misuse] of misuses) await expectCode(code, misuse);
      commands()[0] = x;
      addon.execute(relu, 1);
      addon.releaseTensor(commands()[0]!);
      addon.releaseTensor(x);
    });
  });

  describe('programs', () => {
    for (const async of [false, true]) {
      it(`are made, compiled, run and released${async ? ' off the event loop' : ''}`, async () => {
        const live = counts();
        const program = await (async
          ? addon.createProgram(true, graph(), config, ...weights)
          : addon.createProgram(false, graph(), config, ...weights));
        expect(addon.programTensorType(program, 'w:0'), 'the node keeps its dtype').to.equal(DT.INT64);
        const options = JSON.stringify({ feed: ['x:0'], fetch: ['y:0', 'w:0'] });
        const callable = await (async
          ? addon.createCallable(true, program, options)
          : addon.createCallable(false, program, options));
        addon.releaseProgram(program); // the callable keeps what it needs
        const x = tensor([-1, 2]);
        commands()[0] = x;
        let outputs: Int32Array;
        if (async) {
          outputs = await addon.runCallableAsync(callable, 1);
        } else {
          expect(addon.runCallable(callable, 1)).to.equal(2);
          outputs = commands().slice(0, 8);
        }
        const [y, yType, yRank, ySize, w, wType] = outputs as unknown as number[];
        expect([yType, yRank, ySize, wType]).to.deep.equal([DT.FLOAT, 1, 2, DT.INT32]);
        expect(read(y!, 2)).to.deep.equal([0, 2]);
        const integers = new Int32Array(2);
        addon.readTensor(w!, integers);
        expect(Array.from(integers)).to.deep.equal([-1, 2 ** 31 - 1]);
        for (const handle of [x, y!, w!]) addon.releaseTensor(handle);
        addon.releaseCallable(callable);
        expect(counts()).to.deep.equal(live);
      });
    }

    it('come from SavedModels', async () => {
      const { folder } = readFixture('saved_models', 'hash_table');
      const metaGraphs = JSON.parse(addon.readSavedModel(folder));
      expect(metaGraphs[0].metaInfoDef.tags).to.deep.equal(['serve']);
      for (const program of [
        addon.loadSavedModel(false, folder, ['serve'], config),
        await addon.loadSavedModel(true, folder, ['serve'], config),
      ]) {
        expect(Object.keys(JSON.parse(addon.programSignatures(program)).signatureDef)).to.include(
          'serving_default',
        );
        addon.releaseProgram(program);
      }
    });

    it('run nodes for their effect', () => {
      const noOp = JSON.stringify({ node: [{ name: 'n', op: 'NoOp' }], versions: { producer: 1900 } });
      const program = addon.createProgram(false, noOp, config, [], [], [], []);
      addon.runProgramTargets(program, ['n']);
      addon.releaseProgram(program);
    });

    it('refuse misuse, and leave nothing', async () => {
      const live = counts();
      const program = addon.createProgram(false, graph(), config, ...weights);
      const callable = addon.createCallable(
        false,
        program,
        JSON.stringify({ feed: ['x:0'], fetch: ['y:0'] }),
      );
      const integers = given([1], () => addon.createTensor(DT.INT32, 1, new Int32Array(1)));
      const make = (json: string, ...rest: unknown[]) =>
        addon.createProgram(false, json, config, ...((rest.length ? rest : weights) as typeof weights));
      const misuses: Array<[string, () => unknown]> = [
        ['TFTRT_INVALID_ARGUMENT', () => make('{"node":[')],
        ['TFTRT_INVALID_ARGUMENT', () => make('[]')],
        ['TFTRT_INVALID_ARGUMENT', () => make(graph(), ['w'], [DT.FLOAT], [[2]], [new Float32Array(2)])],
        ['TFTRT_INVALID_ARGUMENT', () => make(graph(), ['w'], [DT.INT32], [[3]], [new Int32Array(2)])],
        ['TFTRT_INVALID_ARGUMENT', () => make(graph(), ['w'], [DT.INT32], [[-2]], [new Int32Array(2)])],
        ['TFTRT_INVALID_ARGUMENT', () => make(graph(), ['w'], [DT.INT32], [[2]], [[1, 2]])],
        ['TFTRT_INVALID_ARGUMENT', () => make(graph(), ['w'])],
        ['TFTRT_INVALID_ARGUMENT', () => addon.createProgram(false, graph(), '{"nope":1}', ...weights)],
        [
          'TFTRT_NOT_FOUND',
          () => addon.createCallable(false, make(graph('NoSuchOp')), JSON.stringify({ fetch: ['y:0'] })),
        ],
        ['TFTRT_NOT_FOUND', () => addon.programTensorType(program, 'nowhere:0')],
        ['TFTRT_NOT_FOUND', () => addon.programTensorType(program, 'y:5')],
        [
          'TFTRT_NOT_FOUND',
          () => addon.createCallable(false, program, JSON.stringify({ fetch: ['nowhere:0'] })),
        ],
        [
          'TFTRT_NOT_FOUND',
          () => addon.createCallable(true, program, JSON.stringify({ fetch: ['nowhere:0'] })),
        ],
        ['TFTRT_INVALID_ARGUMENT', () => addon.createCallable(false, program, 'no json')],
        ['TFTRT_INVALID_ARGUMENT', () => addon.runCallable(callable, 0)],
        ['TFTRT_INVALID_ARGUMENT', () => addon.runCallable(callable, 2)],
        ['TFTRT_INVALID_HANDLE', () => given([-5], () => addon.runCallable(callable, 1))],
        ['TFTRT_INVALID_HANDLE', () => given([-5], () => addon.runCallableAsync(callable, 1))],
        ['TFTRT_INVALID_ARGUMENT', () => given([integers], () => addon.runCallable(callable, 1))],
        ['TFTRT_INVALID_ARGUMENT', () => given([integers], () => addon.runCallableAsync(callable, 1))],
        ['TFTRT_NOT_FOUND', () => addon.runProgramTargets(program, ['nowhere'])],
        ['TFTRT_NOT_FOUND', () => addon.loadSavedModel(false, '/nowhere', ['serve'], config)],
        ['TFTRT_NOT_FOUND', () => addon.readSavedModel('/nowhere')],
        ['TFTRT_INVALID_HANDLE', () => addon.programSignatures(0)],
        ['TFTRT_INVALID_HANDLE', () => addon.releaseProgram(12345)],
        ['TFTRT_INVALID_HANDLE', () => addon.releaseCallable(99)],
      ];
      for (const [code, misuse] of misuses) await expectCode(code, misuse);
      addon.releaseTensor(integers);
      addon.releaseCallable(callable);
      addon.releaseProgram(program);
      expect(counts()).to.deep.equal(live);
    });
  });

  describe('serialized graphs', () => {
    const bytes = () =>
      new Uint8Array(fs.readFileSync(`${readFixture('frozen_graphs', 'layers').folder}.pb`));

    it('are described, cut down, and made into programs and graphs', async () => {
      const live = counts();
      const described = JSON.parse(await addon.describeGraphDef(bytes(), [], ['pooled']));
      expect(described.inputs.map(({ name }: { name: string }) => name)).to.deep.equal(['image:0']);
      expect(described.engines).to.equal(0);

      const file = path.join(os.tmpdir(), `tftrt-cut-${process.pid}.pb`);
      await addon.cutDownGraphDef(bytes(), ['pooled:0'], ['image'], [[-1, 8, 8, 3]], file);
      const cut = new Uint8Array(fs.readFileSync(file));
      fs.rmSync(file);
      expect(cut.length).to.be.below(bytes().length);
      const [input] = JSON.parse(await addon.describeGraphDef(cut, [], ['pooled'])).inputs;
      expect(input.tensorShape.dim.map(({ size }: { size: string }) => size)).to.deep.equal([
        '-1',
        '8',
        '8',
        '3',
      ]);
      await expectCode('TFTRT_UNKNOWN_OUTPUT', () => addon.describeGraphDef(cut, [], ['probabilities']));

      const program = await addon.createGraphDefProgram(cut, config);
      expect(addon.programTensorType(program, 'pooled:0')).to.equal(DT.FLOAT);
      const graphs = await Promise.all([
        addon.createGraphDefGraph(cut, ['image:0'], [DT.FLOAT], ['pooled:0']),
        addon.createGraphDefGraph(bytes(), ['image:0'], [DT.FLOAT], ['pooled:0']),
      ]);
      const [a, b] = graphs.map((handle) => addon.describeGraph(handle));
      expect(a!.fingerprint, 'what is not needed makes no difference').to.equal(b!.fingerprint);
      addon.releaseProgram(program);
      for (const handle of graphs) addon.releaseGraph(handle);
      expect(counts()).to.deep.equal(live);
    });

    it('refuse misuse, and leave nothing', async () => {
      const live = counts();
      const misuses: Array<[string, () => unknown]> = [
        ['TFTRT_INVALID_GRAPH_DEF', () => addon.describeGraphDef(new Uint8Array(3), [], ['y'])],
        ['TFTRT_INVALID_GRAPH_DEF', () => addon.createGraphDefProgram(new Uint8Array(), config)],
        ['TFTRT_INVALID_ARGUMENT', () => addon.createGraphDefProgram(bytes(), '{')],
        ['TFTRT_NOT_FOUND', () => addon.createGraphDefGraph(bytes(), ['image:0'], [DT.FLOAT], ['nowhere:0'])],
        ['TFTRT_INVALID_ARGUMENT', () => addon.describeGraphDef('graph' as never, [], ['y'])],
      ];
      for (const [code, misuse] of misuses) await expectCode(code, misuse);
      expect(counts()).to.deep.equal(live);
    });

    it('that are damaged do no harm', async () => {
      // In a process of its own, for what TensorFlow writes about it.
      const { code, signal, stdout, stderr } = await runNode(
        `
        const fs = require('node:fs');
        const tf = require('@tensorflow/tfjs-core');
        const { loadFrozenGraph } = require('tfjs-backend-tftrt');
        const whole = new Uint8Array(fs.readFileSync('test/fixtures/frozen_graphs/layers.pb'));
        let state = 7;
        const random = (below) => {
          state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
          return (state >>> 4) % below;
        };
        const damaged = () => {
          const bytes = whole.slice();
          for (let changes = 1 + random(3); changes > 0; changes--) bytes[random(bytes.length)] = random(256);
          return bytes;
        };
        (async () => {
          await tf.setBackend('tftrt');
          const ended = { ran: 0, refused: 0 };
          for (let i = 0; i < 500; i++) {
            let model;
            try {
              model = await loadFrozenGraph(damaged(), { outputs: ['probabilities'] });
              tf.dispose(model.predict([tf.ones([2, 8, 8, 3]), tf.scalar(1)]));
              ended.ran++;
            } catch (error) {
              if (!/^TFTRT_/.test(error.code)) throw error;
              ended.refused++;
            }
            model?.dispose();
          }
          console.log(JSON.stringify(ended));
        })();`,
        { env: { TFTRT_DEVICE: 'cpu' } },
      );
      expect({ code, signal }, stderr.slice(-2000)).to.deep.equal({ code: 0, signal: null });
      const { ran, refused } = JSON.parse(stdout);
      expect(ran).to.be.above(0);
      expect(refused).to.be.above(0);
    }).timeout(120_000);
  });

  it('lets one thread at a time build engines', async () => {
    expect(addon.claimBuild()).to.equal(true);
    expect(addon.claimBuild(), 'once each').to.equal(false);
    const claim = `
      const { parentPort } = require('node:worker_threads');
      const { nativeRuntime } = require(${JSON.stringify(require.resolve('#src/native'))});
      const { addon } = nativeRuntime();
      addon.endBuild(); // not its own
      parentPort.postMessage(addon.claimBuild());`;
    const claims = async () => {
      const worker = new Worker(claim, { eval: true });
      // The last message and the exit may come at once.
      const [[taken]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')]);
      return taken;
    };
    expect(await claims()).to.equal(false);
    addon.endBuild();
    expect(await claims()).to.equal(true);
    expect(addon.claimBuild(), 'a thread that ended has it no longer').to.equal(true);
    addon.endBuild();
  });

  describe('the runtime', () => {
    it('describes itself', () => {
      expect(addon.devices().length).to.be.at.least(1);
      expect(addon.deviceName()).to.match(/device:(CPU|GPU):0$/);
      expect(addon.oneDnnEnabled()).to.be.a('boolean');
      addon.synchronize();
    });

    it('takes a longer command buffer', () => {
      const runtime = nativeRuntime();
      const length = runtime.commands.length;
      runtime.reserve(length + 1, 1);
      expect(runtime.commands.length).to.be.above(length);
      const handle = tensor([8]);
      expect(read(handle, 1)).to.deep.equal([8]);
      addon.releaseTensor(handle);
    });

    it('starts once, with one configuration', async () => {
      const error = await errorOf(() =>
        addon.start(
          '{"intraOpParallelismThreads":1}',
          false,
          commands(),
          TftrtError,
          0,
          0,
          undefined,
          0,
          setImmediate,
        ),
      );
      expect(error.code).to.equal('TFTRT_ALREADY_CONFIGURED');
      expect(error.message).to.include('intraOpParallelismThreads');
    });
  });
});
