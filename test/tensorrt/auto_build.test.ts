import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as tf from '@tensorflow/tfjs-core';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { tftrtBackend } from '#src/backend/active';
import type { TftrtBackend } from '#src/backend/backend';
import type { Configuration } from '#src/config';
import type { Program } from '#src/program/program';
import type { RecurringCall } from '#src/program/recurring';
import { takeCall } from '#src/tensorrt/auto_build';
import type { Buildable } from '#src/tensorrt/context';
import type { BuildOptions } from '#src/tensorrt/options';
import { setRuntimeBuilds } from '#src/tensorrt/runtime_builds';
import { live, onTftrt } from '../support/tftrt';

describe('builds at run time', () => {
  onTftrt();
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  before(() => process.on('unhandledRejection', note));
  after(() => process.off('unhandledRejection', note));
  afterEach(() => expect(unhandled).to.deep.equal([]));

  /** A call on the backend, as configured otherwise. */
  function call(
    inputs: TensorInfo[],
    configuration: Configuration = { allowBuildAtRuntime: true },
    engines = 0,
  ): RecurringCall {
    const own = tftrtBackend();
    const runtime = Object.create(own.runtime, { configuration: { value: configuration } });
    // Its methods are the backend's own: data know whose they are.
    const backend: TftrtBackend = new Proxy(own, {
      get(target, name) {
        if (name === 'runtime') return runtime;
        const value = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    return {
      backend,
      program: { label: 'a model', tiers: () => ({ enginesOf: () => engines }) } as unknown as Program,
      feeds: ['x:0'],
      fetches: ['y:0', 'z:0'],
      inputs,
    };
  }

  const counts = () => tftrt.stats().builds;
  const turns = async () => {
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
  };

  it('are none unless they are allowed, nor with INT8', async () => {
    const before_ = counts();
    for (const configuration of [{}, { allowBuildAtRuntime: true, precision: 'INT8' as const }]) {
      expect(takeCall(call([], configuration), () => expect.fail('it was built'))).to.equal(false);
    }
    await turns();
    expect(counts()).to.deep.equal(before_);
  });

  /** The options of what is built for a call, or undefined. */
  async function optionsOf(one: RecurringCall): Promise<BuildOptions | undefined> {
    let options: BuildOptions | undefined;
    const taken = takeCall(one, async (_model, given) => {
      options = given;
    });
    await turns();
    expect(options !== undefined, 'built').to.equal(taken);
    return options;
  }

  it('are allowed, or not, by a build of the model; those have its options', async () => {
    const samples = [tf.scalar(1)];
    const said: BuildOptions = {
      allowBuildAtRuntime: true,
      precision: 'FP16',
      tolerance: 0.2,
      inputs: samples,
    };
    for (const configuration of [{}, { precision: 'INT8' as const }]) {
      const one = call([], configuration);
      setRuntimeBuilds(one.program, said);
      expect(await optionsOf(one)).to.deep.equal({ precision: 'FP16', tolerance: 0.2, inputs: [[]] });
    }
    const forbidden = call([]);
    setRuntimeBuilds(forbidden.program, { allowBuildAtRuntime: false });
    expect(await optionsOf(forbidden)).to.equal(undefined);
    const silent = call([]);
    setRuntimeBuilds(silent.program, { precision: 'FP16' });
    expect(await optionsOf(silent), 'allowed by configure').to.deep.equal({
      precision: 'FP16',
      inputs: [[]],
    });
    tf.dispose(samples);
  });

  it('end where a model has engines for maximumCachedEngines sets of shapes', async () => {
    const configuration = { allowBuildAtRuntime: true, maximumCachedEngines: 2 };
    for (const [engines, isBuilt] of [
      [0, true],
      [1, true],
      [2, false],
      [3, false],
    ] as const) {
      expect((await optionsOf(call([], configuration, engines))) !== undefined, `${engines}`).to.equal(
        isBuilt,
      );
    }
    const own = call([], configuration, 2);
    setRuntimeBuilds(own.program, { maximumCachedEngines: 3 });
    expect(await optionsOf(own), 'a bound of its own').to.not.equal(undefined);
    expect(await optionsOf(call([], { allowBuildAtRuntime: true }, 99)), 'no bound').to.not.equal(undefined);
  });

  it('are one at a time, from a copy of the inputs', async () => {
    const before_ = { ...live(), counts: counts() };
    const x = tf.tensor2d([[1, 2]]);
    const names = tf.tensor1d(['a', 'ü']);
    let end: () => void = () => undefined;
    const built: Buildable[] = [];
    const builder = (model: Buildable) => {
      built.push(model);
      return new Promise<void>((resolve) => {
        end = resolve;
      });
    };
    expect(takeCall(call([x, names]), builder)).to.equal(true);
    tf.dispose([x, names]);
    expect(takeCall(call([]), builder), 'a second one').to.equal(false);
    await turns();
    expect(built).to.have.length(1);
    expect(counts().running).to.equal(before_.counts.running + 1);
    const { request, inputs } = built[0]!.bind([]);
    expect(request).to.deep.include({ feeds: ['x:0'], fetches: ['y:0', 'z:0'], sources: [0, 1] });
    expect(inputs.map(({ shape, dtype }) => [shape, dtype])).to.deep.equal([
      [[1, 2], 'float32'],
      [[2], 'string'],
    ]);
    expect([...((await tftrtBackend().read(inputs[0]!.dataId)) as Float32Array)]).to.deep.equal([1, 2]);
    end();
    await turns();
    const { counts: countsBefore, ...liveBefore } = before_;
    expect(counts()).to.deep.equal({ ...countsBefore, done: countsBefore.done + 1 });
    expect(live()).to.deep.equal(liveBefore);
  });

  it('that fail are counted, and make way for the next', async () => {
    const before_ = { ...live(), counts: counts() };
    const x = tf.tensor2d([[1, 2]]);
    const failures = [
      async () => {
        throw new Error('on purpose');
      },
      () => {
        throw new Error('at once');
      },
    ];
    for (const builder of failures) {
      expect(takeCall(call([x]), builder)).to.equal(true);
      await turns();
    }
    x.dispose();
    // A tensor that is gone.
    expect(takeCall(call([x]), async () => undefined)).to.equal(true);
    await turns();
    const { counts: countsBefore, ...liveBefore } = before_;
    expect(counts()).to.deep.equal({ ...countsBefore, failed: countsBefore.failed + 3 });
    expect(live()).to.deep.equal(liveBefore);
  });
});
