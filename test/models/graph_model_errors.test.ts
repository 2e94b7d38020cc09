import fs from 'node:fs';
import path from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import { useTemporaryFolder } from '../setup/helpers';
import { readFixture, registerFixtureOps } from '../support/fixtures';
import { cleanErrorOf, errorOf, live, onTftrt } from '../support/tftrt';

/** Bad input to graph models: one error that says what is wrong, nothing left of the attempt, the next call works. */
describe('graph models with bad input', () => {
  onTftrt();
  const folder = (name: string) => readFixture('graph_models', name).folder;
  const load = (name: string) => tf.loadGraphModel(`file://${folder(name)}/model.json`);

  describe('in a call', () => {
    let model: tf.GraphModel;
    before(async () => {
      model = await load('small_cnn');
    });
    after(() => model.dispose());
    const image = () => tf.zeros([1, 16, 16, 3]);

    const cases: Array<[string, () => tf.TensorLike | tf.Tensor | tf.Tensor[] | tf.NamedTensorMap, RegExp]> =
      [
        [
          'a wrong dtype',
          () => tf.zeros([1, 16, 16, 3], 'int32'),
          /dtype of dict\['image'\].*must be float32, but was int32/,
        ],
        [
          'a wrong rank',
          () => tf.zeros([16, 16, 3]),
          /shape of dict\['image'\].*must be \[-1,16,16,3\], but was \[16,16,3\]/,
        ],
        ['a wrong shape', () => tf.zeros([1, 16, 16, 4]), /shape of dict\['image'\]/],
        ['too many tensors', () => [image(), image()], /1 non-resource placeholders, while there are 2/],
        [
          'an unknown input name',
          () => ({ picture: image() }),
          /keys: \[picture\] that are not part of graph/,
        ],
        ['nothing', () => null as never, /Missing the following inputs: \[image\]/],
        ['a number', () => 3 as never, /Missing the following inputs: \[image\]/],
        ['a missing input name', () => ({}), /Missing the following inputs: \[image\]/],
      ];
    for (const [title, inputs, message] of cases) {
      it(title, async () => {
        for (const method of ['predict', 'predictAsync'] as const) {
          // Without a tidy, which async functions cannot have: the inputs are made and disposed of here.
          const given = inputs() as tf.Tensor;
          const error = await cleanErrorOf(() => model[method](given));
          expect(error.message).to.match(message);
          tf.dispose(given);
        }
        expect(tf.tidy(() => (model.predict(image()) as tf.Tensor).shape)).to.deep.equal([1, 10]);
      });
    }

    it('an unknown output', async () => {
      const x = image();
      expect((await cleanErrorOf(() => model.execute(x, 'nowhere'))).message).to.match(
        /output 'nowhere' is not found/,
      );
      expect((await cleanErrorOf(() => model.executeAsync(x, ['nowhere']))).message).to.match(/nowhere/);
      const node = Object.keys(
        (model as unknown as { executor: { graph: { nodes: object } } }).executor.graph.nodes,
      )[0]!;
      expect((await cleanErrorOf(() => model.execute(x, `${node}:7`))).message).to.match(/no output 7/);
      x.dispose();
    });

    it('a disposed tensor', async () => {
      const x = image();
      x.dispose();
      for (const method of ['predict', 'predictAsync'] as const) {
        const error = await cleanErrorOf(() => model[method](x));
        expect(error.code).to.equal('TFTRT_TENSOR_DISPOSED');
        expect(error.message).to.include("'image:0'");
      }
    });

    it('an error while the graph runs', async () => {
      const model_ = await tf.loadGraphModel(reshapeModel());
      const [good, bad] = [tf.zeros([6]), tf.zeros([7])];
      const shapeOf = (x: tf.Tensor) => tf.tidy(() => (model_.predict(x) as tf.Tensor).shape);
      expect(shapeOf(good)).to.deep.equal([2, 3]);
      tf.dispose(tf.neg(bad)); // uploads it
      for (const method of ['predict', 'predictAsync'] as const) {
        const error = await cleanErrorOf(() => model_[method](bad));
        expect(error.code).to.equal('TFTRT_INVALID_ARGUMENT');
        expect(error.message).to.match(/node y/);
        expect(shapeOf(good)).to.deep.equal([2, 3]);
      }
      tf.dispose([good, bad]);
      model_.dispose();
    });
  });

  it('a disposed model', async () => {
    const model = await load('small_cnn');
    const x = tf.zeros([1, 16, 16, 3]);
    tf.dispose(model.predict(x));
    model.dispose();
    for (const method of ['predict', 'predictAsync'] as const) {
      expect((await cleanErrorOf(() => model[method](x))).code).to.equal('TFTRT_MODEL_DISPOSED');
    }
    x.dispose();
  });

  describe('in the files', () => {
    const temporaryFolder = useTemporaryFolder();
    /** A copy of a fixture that `change` spoils. */
    function spoiled(change: (copy: string) => void): string {
      const copy = temporaryFolder();
      fs.cpSync(folder('small_cnn'), copy, { recursive: true });
      change(copy);
      return copy;
    }
    const weightFile = (copy: string) =>
      path.join(copy, fs.readdirSync(copy).find((file) => file.endsWith('.bin'))!);

    async function expectFileError(copy: string, ...parts: (string | RegExp)[]): Promise<void> {
      const error = await cleanErrorOf(() => tf.loadGraphModel(`file://${copy}/model.json`));
      expect(error.code).to.equal('TFTRT_MODEL_FILE');
      for (const part of parts)
        expect(error.message).to.match(part instanceof RegExp ? part : new RegExp(part));
    }

    it('a missing model', () => expectFileError('/nowhere', '/nowhere/model.json', 'does not exist'));
    it('no JSON', () =>
      expectFileError(
        spoiled((copy) => fs.writeFileSync(`${copy}/model.json`, '{"modelTopology": {')),
        'not valid JSON',
      ));
    it('JSON of something else', () =>
      expectFileError(
        spoiled((copy) => fs.writeFileSync(`${copy}/model.json`, '{"name": "x"}')),
        'no modelTopology',
      ));
    it('missing weights', () =>
      expectFileError(
        spoiled((copy) => fs.rmSync(weightFile(copy))),
        'weights of',
        'does not exist',
      ));
    it('truncated weights', () =>
      expectFileError(
        spoiled((copy) => fs.truncateSync(weightFile(copy), fs.statSync(weightFile(copy)).size - 4)),
        /have \d+ bytes, but .* describes \d+/,
        'truncated',
      ));
    it('a graph that TensorFlow refuses', async () => {
      const copy = spoiled((folder_) => {
        const file = path.join(folder_, 'model.json');
        const model = JSON.parse(fs.readFileSync(file, 'utf8'));
        const node = model.modelTopology.node.find(({ op }: { op: string }) => op === 'Softmax');
        node.attr.T = { type: 'DT_INT32' };
        fs.writeFileSync(file, JSON.stringify(model));
      });
      const model = await tf.loadGraphModel(`file://${copy}/model.json`);
      const x = tf.zeros([1, 16, 16, 3]);
      const error = await cleanErrorOf(() => model.predict(x));
      expect(error.code).to.match(/^TFTRT_/);
      expect(error.message)
        .to.match(/[Ss]oftmax/)
        .and.include('model.json');
      x.dispose();
      model.dispose();
    });
  });

  it('a model with an op of tf.registerOp runs in JavaScript, and says so once', async () => {
    const deregister = registerFixtureOps();
    const warnings: string[] = [];
    const warn = console.warn;
    console.warn = (text: string) => warnings.push(text);
    try {
      const before_ = live();
      const model = await load('custom_op');
      const x = tf.zeros(model.inputs[0]!.shape!.map((size) => Math.max(size, 1)));
      tf.dispose([model.predict(x) as tf.Tensor, model.predict(x) as tf.Tensor, x]);
      model.dispose();
      expect(live()).to.deep.equal(before_);
    } finally {
      console.warn = warn;
      deregister();
    }
    const ours = warnings.filter((text) => text.startsWith('tftrt:'));
    expect(ours.length).to.equal(1);
    expect(ours[0]).to.include('FixtureSquarePlus');
  });

  it('the flag gives the executor of tfjs back', async () => {
    const model = await load('argmax');
    const { programs } = live();
    tf.env().set('TFTRT_GRAPH_MODEL', false);
    try {
      const inputs = model.inputs.map(({ shape, dtype }) =>
        tf.zeros(
          shape!.map((size) => Math.max(size, 1)),
          dtype,
        ),
      );
      tf.dispose([await model.executeAsync(inputs), inputs] as tf.Tensor[]);
      expect(live().programs).to.equal(programs);
    } finally {
      tf.env().set('TFTRT_GRAPH_MODEL', true);
      model.dispose();
    }
  });

  it('a model of another backend is not touched', async () => {
    const model = await load('small_cnn');
    await tf.setBackend('cpu');
    const before_ = tf.memory().numTensors;
    const shape = tf.tidy(() => (model.predict(tf.zeros([1, 16, 16, 3])) as tf.Tensor).shape);
    expect(shape).to.deep.equal([1, 10]);
    expect(tf.memory().numTensors).to.equal(before_);
    await tf.setBackend('tftrt');
    model.dispose();
    expect((await errorOf(() => model.predict(tf.zeros([1, 16, 16, 3])))).message.length).to.be.above(0);
  });
});

/** y = reshape(x, [2, 3]), for any x. */
function reshapeModel(): tf.io.IOHandler {
  const node = [
    { name: 'x', op: 'Placeholder', attr: { dtype: { type: 'DT_FLOAT' } } },
    {
      name: 'shape',
      op: 'Const',
      attr: {
        dtype: { type: 'DT_INT32' },
        value: { tensor: { dtype: 'DT_INT32', tensorShape: { dim: [{ size: '2' }] } } },
      },
    },
    {
      name: 'y',
      op: 'Reshape',
      input: ['x', 'shape'],
      attr: { T: { type: 'DT_FLOAT' }, Tshape: { type: 'DT_INT32' } },
    },
  ];
  return tf.io.fromMemory({
    modelTopology: { node, versions: { producer: 1900 } },
    weightSpecs: [{ name: 'shape', dtype: 'int32', shape: [2] }],
    weightData: new Int32Array([2, 3]).buffer,
  });
}
