import { loadGraphModel } from '@tensorflow/tfjs-converter';
import type { DataType, Tensor, TensorInfo } from '@tensorflow/tfjs-core';
import * as tf from '@tensorflow/tfjs-core';
import { expect } from 'chai';
import { tftrtBackend } from '#src/backend/active';
import { planToBuild } from '#src/models/graph_model/hook';
import type { Buildable } from '#src/tensorrt/context';
import type { BuildOptions, ModelInputs } from '#src/tensorrt/options';
import { type DeclaredInput, profilesOf } from '#src/tensorrt/profiles';
import { readFixture, toTensors } from '../support/fixtures';
import { live, onTftrt } from '../support/tftrt';

const float = (name: string, shape: (number | null)[]): DeclaredInput => ({ name, shape, dtype: 'float32' });

describe('the profiles of a build', () => {
  onTftrt();

  /** A model of these inputs, which takes whatever is given. */
  function model(...declared: DeclaredInput[]): Buildable {
    const request = { feeds: declared.map(({ name }) => `${name}:0`), fetches: ['y:0'], sources: [0] };
    return {
      label: 'a model',
      backend: tftrtBackend(),
      bind: (inputs: ModelInputs) => ({
        request,
        inputs: Array.isArray(inputs)
          ? inputs
          : inputs instanceof tf.Tensor
            ? [inputs]
            : declared.map(({ name }) => (inputs as tf.NamedTensorMap)[name] as Tensor),
      }),
      declaredInputs: () => declared,
    } as unknown as Buildable;
  }

  /** What is made of the options; lets go of the samples. */
  function profiles(of: Buildable, options: BuildOptions) {
    const held: TensorInfo[] = [];
    try {
      const made = profilesOf(of, options, held);
      return made.profiles.map(({ corners, fixed, tuned, samples }) => ({
        ...corners,
        fixed,
        tuned,
        samples: samples.map((set) => set.map(({ shape }) => shape)),
      }));
    } finally {
      for (const info of held) of.backend.letGo(info);
    }
  }

  function refused(of: Buildable, options: BuildOptions): string {
    const before_ = live();
    try {
      profiles(of, options);
    } catch (error) {
      expect((error as { code?: string }).code).to.equal('TFTRT_INVALID_ARGUMENT');
      expect(live()).to.deep.equal(before_);
      return (error as Error).message;
    }
    throw new Error('expected a refusal');
  }

  it('without any, the declared shape with a batch of 1', () => {
    expect(profiles(model(float('x', [-1, 8]), float('z', [null, 3])), {})).to.deep.equal([
      {
        min: [
          [1, 8],
          [1, 3],
        ],
        opt: [
          [1, 8],
          [1, 3],
        ],
        max: [
          [1, 8],
          [1, 3],
        ],
        fixed: true,
        tuned: false,
        samples: [
          [
            [1, 8],
            [1, 3],
          ],
        ],
      },
    ]);
  });

  it('are one for each set of shapes among the inputs', () => {
    const inputs = [tf.ones([2, 8]), tf.ones([1, 8]), tf.zeros([2, 8])];
    const made = profiles(model(float('x', [-1, 8])), { inputs });
    expect(made.map(({ min, fixed }) => [min, fixed])).to.deep.equal([
      [[[2, 8]], true],
      [[[1, 8]], true],
    ]);
    tf.dispose(inputs);
  });

  it('compare on all inputs that are given for their shapes', () => {
    const of = model(float('x', [-1, 2]));
    const inputs = [tf.ones([1, 2]), tf.zeros([1, 2]), tf.ones([3, 2]), tf.ones([9, 2])];
    const checks = (options: BuildOptions) => {
      const held: TensorInfo[] = [];
      const made = profilesOf(of, { inputs, ...options }, held).profiles.map(({ checks: sets }) =>
        sets.map(([x]) => inputs.indexOf(x as Tensor)),
      );
      for (const info of held) of.backend.letGo(info);
      return made;
    };
    expect(checks({})).to.deep.equal([[1, 0], [2], [3]]);
    // Made up for the corner that is not among them.
    expect(checks({ profiles: [{ min: [1, 2], max: [4, 2] }] })).to.deep.equal([[0, -1, 1, 2]]);
    tf.dispose(inputs);
  });

  it('hold the inputs, which may be disposed of meanwhile', () => {
    const of = model(float('x', [-1, 2]));
    const before_ = { ...live(), buffers: tf.memory().numDataBuffers };
    const x = tf.tensor2d([[3, 4]]);
    const held: TensorInfo[] = [];
    const { profiles: made } = profilesOf(of, { inputs: [x] }, held);
    x.dispose();
    expect([...(of.backend.readSync(made[0]!.samples[0]![0]!.dataId) as Float32Array)]).to.deep.equal([3, 4]);
    for (const info of held) of.backend.letGo(info);
    expect({ ...live(), buffers: tf.memory().numDataBuffers }).to.deep.equal(before_);
  });

  it('of a range have a sample for each corner, the one to be timed last', () => {
    const range = { min: [1, 8], opt: [4, 8], max: [16, 8] };
    const [made] = profiles(model(float('x', [-1, 8])), { profiles: [range] });
    expect(made).to.deep.include({ fixed: false, tuned: true });
    expect(made!.samples).to.deep.equal([[[1, 8]], [[16, 8]], [[4, 8]]]);
    const [two] = profiles(model(float('x', [-1, 8])), { profiles: [{ x: { min: [1, 8], max: [16, 8] } }] });
    expect(two).to.deep.include({ opt: [[16, 8]], tuned: false });
    expect(two!.samples).to.deep.equal([[[1, 8]], [[16, 8]]]);
  });

  it('of several inputs name each, with or without the number of the output', () => {
    const of = model(float('a:0', [-1, 2]), float('b', [-1, 3]));
    const [made] = profiles(of, { profiles: [{ a: { opt: [5, 2] }, b: { max: [5, 3] } }] });
    expect(made).to.deep.include({
      min: [
        [5, 2],
        [5, 3],
      ],
      fixed: true,
    });
  });

  it('use the given values for their shapes', () => {
    const of = model(float('x', [-1, 2]));
    const x = tf.tensor2d([[3, 4]]);
    const held: TensorInfo[] = [];
    const { profiles: made } = profilesOf(
      of,
      { inputs: [x], profiles: [{ min: [1, 2], max: [2, 2] }] },
      held,
    );
    const values = (i: number) => [...(of.backend.readSync(made[0]!.samples[i]![0]!.dataId) as Float32Array)];
    expect(values(0)).to.deep.equal([3, 4]);
    expect(values(1)).to.have.length(4);
    expect(values(1).every((value) => value >= 0 && value < 1)).to.equal(true);
    for (const info of held) of.backend.letGo(info);
    x.dispose();
  });

  it('refuse an open size beyond the batch', () => {
    expect(refused(model(float('x', [-1, -1, 3])), {}))
      .to.include("'x'")
      .and.to.include('[-1,-1,3]');
  });

  it('refuse one range for several inputs, and a missing one', () => {
    const of = model(float('a', [-1, 2]), float('b', [-1, 3]));
    expect(refused(of, { profiles: [{ opt: [1, 2] }] })).to.include('a, b');
    expect(refused(of, { profiles: [{ a: { opt: [1, 2] } }] })).to.include("'b'");
    expect(refused(of, { profiles: [{ a: { opt: [1, 2] }, b: {} }] })).to.include("'b'");
  });

  const ranges: object[] = [
    { min: [2, 8], max: [1, 8] },
    { min: [1, 8], opt: [9, 8], max: [4, 8] },
    { min: [4, 8], opt: [1, 8] },
    { opt: [0, 8] },
    { opt: [1.5, 8] },
    { min: [8], max: [1, 8] },
    { opt: [-1, 8] },
  ];
  for (const range of ranges) {
    it(`refuse the range ${JSON.stringify(range)}`, () => {
      expect(refused(model(float('x', [-1, 8])), { profiles: [range] })).to.include("'x'");
    });
  }

  it('have no shapes of the tables of a graph model, which are among its inputs', async () => {
    const { folder, cases } = readFixture('graph_models', 'table_and_layers');
    const loaded = await loadGraphModel(`file://${folder}/model.json`);
    expect(loaded.inputs).to.have.length(3);
    const of = await planToBuild(loaded as never).buildable();
    const samples = cases.map(({ inputs }) => toTensors(inputs));
    const range = { word: { min: [1], max: [3] }, x: { min: [1, 16], max: [3, 16] } };
    expect(profiles(of, { inputs: samples, profiles: [range] })).to.deep.equal([
      {
        min: [[1], [1, 16]],
        opt: [[3], [3, 16]],
        max: [[3], [3, 16]],
        fixed: false,
        tuned: false,
        samples: [
          [[1], [1, 16]],
          [[3], [3, 16]],
        ],
      },
    ]);
    tf.dispose(samples);
    loaded.dispose();
  });

  it('make up no values but floats', () => {
    const of = model({ name: 'ids', shape: [-1, 8], dtype: 'int32' as DataType });
    expect(refused(of, {})).to.include("'ids'").and.to.include('int32');
  });
});
