import type { TensorInfo } from '@tensorflow/tfjs-core';
import { expect } from 'chai';
import type { TftrtBackend } from '#src/backend/backend';
import type { Runner } from '#src/program/runner';
import { type EngineTier, RUNS_BEFORE_BUILD, type TierSource, Tiers } from '#src/program/tiers';
import { expectTftrtError } from '../setup/helpers';

const KEY = 'x\n\ny';
const FEEDS = ['x:0'];
const FETCHES = ['y:0'];

/** A runner that only stands for one. */
function fakeRunner(kind: Runner['kind'], captured = false): Runner & { disposed: number } {
  const runner = { kind, captured, disposed: 0, dispose: () => runner.disposed++ };
  return runner as unknown as Runner & { disposed: number };
}

const input = (shape: number[], dtype: 'float32' | 'int32' = 'float32'): TensorInfo[] => [
  { dataId: {}, shape, dtype },
];

interface Fake {
  tiers: Tiers;
  /** Calls that recurred. */
  recurred: Array<readonly TensorInfo[]>;
  /** Ends the capture that is under way: with a CUDA graph, or an error. */
  capture: { end(error?: Error): Promise<void>; started: number };
  released: number[];
  held(): number;
}

/** Tiers over a backend whose captures end when the test says so. */
function fake({ arena = false, take = () => true }: { arena?: boolean; take?: () => boolean } = {}): Fake {
  const recurred: Fake['recurred'] = [];
  const released: number[] = [];
  let held = 0;
  let settle: { resolve(graph: number): void; reject(error: Error): void } | undefined;
  const state = { started: 0 };
  const addon = {
    describeGraph: () => ({ feeds: ['feed_0'], fetches: ['n0:0'] }),
    createArenaProgram: async () => 1,
    releaseGraph: () => undefined,
    releaseProgram: () => undefined,
    captureGraph: () => {
      state.started++;
      return new Promise<number>((resolve, reject) => {
        settle = { resolve, reject };
      });
    },
    releaseCapturedGraph: (graph: number) => released.push(graph),
    runCapturedGraphAsync: async () => new Int32Array(),
  };
  const backend = {
    runtime: {
      arenaName: arena ? 'the arena' : '',
      addon,
      reserve: () => undefined,
      commands: new Int32Array(9),
    },
    hold: () => held++,
    letGo: () => held--,
    handle: () => 5,
    valuesToFeed: () => undefined,
    read: async () => new Float32Array(2),
    write: () => ({}),
    disposeData: () => true,
    outputs: () => [],
  } as unknown as TftrtBackend;
  const source: TierSource = {
    label: 'a model',
    sessionConfig: '{}',
    graph: async () => 7,
    base: () => ({ runAsync: async () => [] }) as unknown as Runner,
  };
  const tiers = new Tiers(backend, source, (_feeds, _fetches, inputs) => {
    recurred.push(inputs);
    return take();
  });
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    tiers,
    recurred,
    released,
    held: () => held,
    capture: {
      get started() {
        return state.started;
      },
      async end(error) {
        if (error === undefined) settle!.resolve(3);
        else settle!.reject(error);
        await settled();
      },
    },
  };
}

const run = ({ tiers }: Fake, inputs: TensorInfo[]) => tiers.runnerFor(KEY, FEEDS, FETCHES, inputs);
const runs = (of: Fake, inputs: TensorInfo[], times: number) => {
  for (let i = 0; i < times; i++) run(of, inputs);
};

function engines(
  min: number[],
  max: number[],
  runner = fakeRunner('tensorrt'),
): EngineTier & { disposed: number } {
  const tier = {
    min: [min],
    max: [max],
    runner,
    arena: { program: 2, feeds: ['feed_0'], fetches: ['n0:0'] },
    disposed: 0,
    dispose: () => tier.disposed++,
  };
  return tier as unknown as EngineTier & { disposed: number };
}

describe('tiers', () => {
  describe('calls that recur', () => {
    it('are told of once, for each set of shapes', () => {
      const of = fake();
      runs(of, input([1, 2]), RUNS_BEFORE_BUILD - 1);
      runs(of, input([3, 2]), RUNS_BEFORE_BUILD - 1);
      expect(of.recurred).to.deep.equal([]);
      const last = input([1, 2]);
      run(of, last);
      expect(of.recurred).to.have.length(1);
      expect(of.recurred[0]).to.equal(last);
      runs(of, input([1, 2]), 3 * RUNS_BEFORE_BUILD);
      run(of, input([3, 2]));
      expect(of.recurred.map(([info]) => info!.shape)).to.deep.equal([
        [1, 2],
        [3, 2],
      ]);
    });

    it('are told of again where nobody had time', () => {
      let free = false;
      const of = fake({ take: () => free });
      runs(of, input([1, 2]), 2 * RUNS_BEFORE_BUILD);
      expect(of.recurred).to.have.length(2);
      free = true;
      runs(of, input([1, 2]), 5 * RUNS_BEFORE_BUILD);
      expect(of.recurred).to.have.length(3);
    });

    it('are not where engines serve', () => {
      const of = fake();
      of.tiers.addEngines(KEY, FEEDS, FETCHES, engines([1, 2], [4, 2]));
      runs(of, input([2, 2]), 2 * RUNS_BEFORE_BUILD);
      expect(of.recurred).to.deep.equal([]);
      runs(of, input([5, 2]), RUNS_BEFORE_BUILD);
      expect(of.recurred).to.have.length(1);
    });
  });

  describe('engines', () => {
    it('serve the shapes between their corners', () => {
      const of = fake();
      run(of, input([2, 2]));
      const tier = engines([1, 2], [4, 2]);
      of.tiers.addEngines(KEY, FEEDS, FETCHES, tier);
      for (const batch of [1, 2, 4]) expect(run(of, input([batch, 2]))).to.equal(tier.runner);
      for (const shape of [[5, 2], [2, 3], [2], [0, 2]]) expect(run(of, input(shape))).to.equal(undefined);
    });

    it('that newer ones replace are disposed of, others not', () => {
      const of = fake();
      const [small, other] = [engines([2, 2], [3, 2]), engines([8, 2], [9, 2])];
      of.tiers.addEngines(KEY, FEEDS, FETCHES, small);
      of.tiers.addEngines(KEY, FEEDS, FETCHES, other);
      expect(run(of, input([2, 2]))).to.equal(small.runner);
      const wide = engines([1, 2], [4, 2]);
      of.tiers.addEngines(KEY, FEEDS, FETCHES, wide);
      expect([small.disposed, other.disposed]).to.deep.equal([1, 0]);
      expect(run(of, input([2, 2]))).to.equal(wide.runner);
      expect(run(of, input([8, 2]))).to.equal(other.runner);
      expect([of.tiers.enginesOf(KEY), of.tiers.enginesOf('others')]).to.deep.equal([2, 0]);
      of.tiers.dispose();
      expect([small.disposed, other.disposed, wide.disposed]).to.deep.equal([1, 1, 1]);
    });

    it('are refused by a model that is disposed of', async () => {
      const of = fake();
      of.tiers.dispose();
      const tier = engines([1, 2], [4, 2]);
      expectTftrtError('TFTRT_MODEL_DISPOSED', () => of.tiers.addEngines(KEY, FEEDS, FETCHES, tier));
      expect(tier.disposed, 'they are still the caller’s').to.equal(0);
    });

    it('that fail are retired', () => {
      const of = fake();
      const tier = engines([1, 2], [4, 2]);
      of.tiers.addEngines(KEY, FEEDS, FETCHES, tier);
      const runner = run(of, input([2, 2]))!;
      of.tiers.retire(runner, new Error('on purpose'));
      expect(run(of, input([2, 2]))).to.equal(undefined);
    });
  });

  describe('captures', () => {
    const captureNow = (of: Fake, inputs: TensorInfo[]) => of.tiers.captureNow(KEY, FEEDS, FETCHES, inputs);
    const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

    it('need an arena', async () => {
      expect(await captureNow(fake(), input([1, 2]))).to.include('graphArenaBytes');
    });

    it('begin after some runs, and hold the inputs meanwhile', async () => {
      const of = fake({ arena: true });
      runs(of, input([1, 2]), 10);
      await turn();
      expect([of.capture.started, of.held()]).to.deep.equal([1, 1]);
      runs(of, input([1, 2]), 10);
      await turn();
      expect(of.capture.started, 'one at a time').to.equal(1);
      await of.capture.end();
      expect(of.held()).to.equal(0);
      expect(run(of, input([1, 2]))).to.include({ captured: true, kind: 'tensorflow' });
      of.tiers.dispose();
      expect(of.released).to.deep.equal([3]);
    });

    it('are for one dtype', async () => {
      const of = fake({ arena: true });
      const done = captureNow(of, input([1, 2]));
      await turn();
      await of.capture.end();
      expect(await done).to.equal(undefined);
      expect(run(of, input([1, 2], 'int32'))).to.equal(undefined);
    });

    it('that fail are not tried again', async () => {
      const of = fake({ arena: true });
      runs(of, input([1, 2]), 10);
      await turn();
      await of.capture.end(new Error('an op waits'));
      expect(of.held()).to.equal(0);
      runs(of, input([1, 2]), 30);
      await turn();
      expect(of.capture.started).to.equal(1);
      expect(await captureNow(of, input([1, 2]))).to.equal('an op waits');
    });

    for (const error of [undefined, new Error('late')]) {
      it(`of what no longer serves are dropped${error ? ', also when they fail' : ''}`, async () => {
        const of = fake({ arena: true });
        const before_ = captureNow(of, input([2, 2]));
        await turn();
        const tier = engines([1, 2], [4, 2]);
        of.tiers.addEngines(KEY, FEEDS, FETCHES, tier);
        await of.capture.end(error);
        await before_;
        expect(of.released).to.deep.equal(error ? [] : [3]);
        expect(run(of, input([2, 2])), 'the engines serve').to.equal(tier.runner);
        const engineCapture = captureNow(of, input([2, 2]));
        await turn();
        expect(of.capture.started, 'and are captured').to.equal(2);
        await of.capture.end(new Error('enough'));
        await engineCapture;
      });
    }

    it('of engines that fail leave the engines', async () => {
      const of = fake({ arena: true });
      const runner = fakeRunner('tensorrt');
      (runner as { runAsync?: unknown }).runAsync = async () => [];
      const tier = engines([1, 2], [4, 2], runner);
      of.tiers.addEngines(KEY, FEEDS, FETCHES, tier);
      const done = captureNow(of, input([2, 2]));
      await turn();
      await of.capture.end();
      expect(await done).to.equal(undefined);
      const captured = run(of, input([2, 2]))!;
      expect(captured).to.include({ captured: true, kind: 'tensorrt' });
      of.tiers.retire(captured, new Error('on purpose'));
      expect(of.released).to.deep.equal([3]);
      expect(run(of, input([2, 2]))).to.equal(runner);
    });

    it('of a model that is disposed of meanwhile leave nothing', async () => {
      const of = fake({ arena: true });
      const done = captureNow(of, input([1, 2]));
      await turn();
      of.tiers.dispose();
      await of.capture.end();
      await done;
      expect(of.released).to.deep.equal([3]);
      expect(of.held()).to.equal(0);
    });
  });
});
