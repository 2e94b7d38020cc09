import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import * as tf from 'tfjs-backend-tftrt/node';
import { useTemporaryFolder } from '../setup/helpers';
import { readFixture } from '../support/fixtures';
import { errorOf, live, onTftrt } from '../support/tftrt';

const { node } = tf;
const folder = (name: string) => readFixture('saved_models', name).folder;

describe('tf.node: SavedModels', () => {
  onTftrt();
  const temporaryFolder = useTemporaryFolder();

  /** f(z, a) = {y: z − a, b: z + a}, for z = 10 and a = 3. */
  const numbers = () => ({ z: tf.tensor1d([10]), a: tf.tensor1d([3]) });
  const valuesOf = (tensors: tf.Tensor[]) => tensors.map((tensor) => [...tensor.dataSync()]);

  it('tells tags and signatures', async () => {
    const [metaGraph, ...others] = await node.getMetaGraphsFromSavedModel(folder('int64_io'));
    expect(others).to.deep.equal([]);
    expect(metaGraph!.tags).to.deep.equal(['serve']);
    expect(Object.keys(metaGraph!.signatureDefs)).to.deep.equal(['mask', 'serving_default', 'shift']);
    const { inputs, outputs } = metaGraph!.signatureDefs.serving_default!;
    const [input] = Object.values(inputs);
    expect(input).to.include({ dtype: 'int32', tfDtype: 'DT_INT64' });
    expect(input!.shape).to.deep.equal([-1]);
    expect(input!.name).to.match(/^serving_default_.*:0$/);
    for (const output of Object.values(outputs)) expect(output.name).to.match(/PartitionedCall(_\d)?:\d$/);
  });

  it('tells those of several meta graphs', async () => {
    const metaGraphs = await node.getMetaGraphsFromSavedModel(folder('tag_sets'));
    expect(metaGraphs.length).to.be.above(1);
    const { tags, signatureDefs } = metaGraphs[1]!;
    const model = await node.loadSavedModel(
      folder('tag_sets'),
      [...tags].reverse(),
      Object.keys(signatureDefs)[0],
    );
    model.dispose();
  });

  it('describes the model as its graph does', async () => {
    const model = await node.loadSavedModel(folder('two_inputs'));
    expect(model.inputs.map(({ name }) => name)).to.deep.equal(['serving_default_a', 'serving_default_z']);
    expect(model.inputs.map(({ shape, dtype }) => [shape, dtype])).to.deep.equal([
      [[-1], 'float32'],
      [[-1], 'float32'],
    ]);
    expect(Object.keys(model.outputNodeNames)).to.deep.equal(['b', 'y']);
    expect(model.outputs.map(({ name }) => name)).to.deep.equal(
      Object.values(model.outputNodeNames).map((name) => name.replace(/:0$/, '')),
    );
    model.dispose();
  });

  it('predicts, in the shape of the inputs', async () => {
    const model = await node.loadSavedModel(folder('two_inputs'));
    const { z, a } = numbers();
    const map = model.predict({ z, a }) as tf.NamedTensorMap;
    expect(Object.keys(map)).to.deep.equal(['b', 'y']);
    expect(valuesOf([map.b!, map.y!])).to.deep.equal([[13], [7]]);
    const list = model.predict([a, z]) as tf.Tensor[];
    expect(valuesOf(list), 'in alphabetical order').to.deep.equal([[13], [7]]);
    const asynchronous = (await model.predictAsync({ z, a })) as tf.NamedTensorMap;
    expect(valuesOf([asynchronous.y!])).to.deep.equal([[7]]);
    expect(valuesOf(model.execute({ z, a }, ['y', 'b']) as tf.Tensor[])).to.deep.equal([[7], [13]]);
    expect(valuesOf([model.execute([a, z], 'y') as tf.Tensor])).to.deep.equal([[7]]);
    model.dispose();

    const single = await node.loadSavedModel(folder('int64_io'));
    const x = tf.tensor1d([5, -3], 'int32');
    const outputs = single.outputs.length;
    const one = single.predict(x);
    expect(Array.isArray(one), 'a list only of several').to.equal(outputs > 1);
    expect(single.predict([x]), 'a list for a list')
      .to.be.an('array')
      .of.length(outputs);
    single.dispose();
  });

  it('shares a session among models of one meta graph', async () => {
    const before_ = live();
    const [start, directory] = [node.getNumOfSavedModels(), folder('two_inputs')];
    const [first, second] = await Promise.all([
      node.loadSavedModel(directory),
      node.loadSavedModel(`${directory}/`),
    ]);
    expect(node.getNumOfSavedModels()).to.equal(start + 1);
    const other = await node.loadSavedModel(folder('int64_io'));
    expect(node.getNumOfSavedModels()).to.equal(start + 2);
    first.dispose();
    other.dispose();
    expect(node.getNumOfSavedModels()).to.equal(start + 1);
    const inputs = numbers();
    tf.dispose([second.predict(inputs), inputs]);
    second.dispose();
    expect(node.getNumOfSavedModels()).to.equal(start);
    expect(live()).to.deep.equal(before_);
  });

  it('refuses disposed models', async () => {
    const model = await node.loadSavedModel(folder('two_inputs'));
    model.dispose();
    const again = await errorOf(() => model.dispose());
    expect(again.message).to.equal('This SavedModel has already been deleted.');
    const error = await errorOf(() => model.predict(numbers()));
    expect(error.message).to.equal('The TFSavedModel has already been deleted!');
    expect([again.code, error.code]).to.deep.equal(['TFTRT_MODEL_DISPOSED', 'TFTRT_MODEL_DISPOSED']);
  });

  it('refuses wrong inputs', async () => {
    const model = await node.loadSavedModel(folder('two_inputs'));
    const { a, z } = numbers();
    const wrong: Array<[string, () => unknown]> = [
      [
        'The model signatureDef input names are a,z, however the provided input names are a,x.',
        () => model.predict({ a, x: z }),
      ],
      [
        'The model signatureDef input names are a,z, however the provided input names are .',
        () => model.predict({}),
      ],
      ['has 2 inputs', () => model.predict(a)],
      ['has 2 inputs', () => model.predict([a])],
      ['takes shape [-1]', () => model.predict({ z, a: tf.tensor2d([[1]]) })],
      ['takes dtype float32', () => model.predict({ z, a: tf.tensor1d([1], 'int32') })],
      ["no output or node 'nothing'", () => model.execute({ z, a }, 'nothing')],
      ['takes a tensor, a list or a map', () => model.predict(null as never)],
    ];
    for (const [text, work] of wrong) expect((await errorOf(work)).message).to.include(text);
    model.dispose();
  });

  it('says what cannot be loaded', async () => {
    const [models, directory] = [node.getNumOfSavedModels(), folder('two_inputs')];
    const empty = temporaryFolder();
    const damaged = path.join(empty, 'damaged');
    fs.mkdirSync(damaged);
    fs.writeFileSync(path.join(damaged, 'saved_model.pb'), 'no protobuf');
    const cases: Array<[string, () => unknown]> = [
      [`There is no saved_model.pb file in the directory: ${empty}`, () => node.loadSavedModel(empty)],
      [
        `There is no saved_model.pb file in the directory: ${empty}`,
        () => node.getMetaGraphsFromSavedModel(empty),
      ],
      [
        `The SavedModel does not have tags: serve,gpu; ${directory} has: [serve]`,
        () => node.loadSavedModel(directory, ['serve', 'gpu']),
      ],
      [
        `The SavedModel does not have signature: other; ${directory} has: serving_default`,
        () => node.loadSavedModel(directory, ['serve'], 'other'),
      ],
      ['loadSavedModel: the folder is undefined', () => node.loadSavedModel(undefined as never)],
      ['loadSavedModel: tags is "serve"', () => node.loadSavedModel(directory, 'serve' as never)],
      ['getMetaGraphsFromSavedModel: the folder is 7', () => node.getMetaGraphsFromSavedModel(7 as never)],
      [
        `the file ${path.join(damaged, 'saved_model.pb')} (11 bytes) is damaged`,
        () => node.loadSavedModel(damaged),
      ],
    ];
    for (const [text, work] of cases) expect((await errorOf(work)).message).to.include(text);
    expect(node.getNumOfSavedModels()).to.equal(models);
  });
});
