import fs from 'node:fs';
import path from 'node:path';
import '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { nativeRuntime } from '#src/native';
import { getMetaGraphsFromSavedModel } from '#src/node/meta_graphs';
import { getNumOfSavedModels, loadSavedModel as loadTFSavedModel } from '#src/node/saved_model';
import { useTemporaryFolder } from '../setup/helpers';
import {
  exceedsInt32,
  type Fixture,
  type FixtureCase,
  mismatch,
  readFixture,
  readFixtures,
  toTensors,
} from '../support/fixtures';
import { cleanErrorOf, errorOf, live, onTftrt } from '../support/tftrt';

describe('SavedModels', () => {
  onTftrt();
  const temporaryFolder = useTemporaryFolder();

  for (const fixture of readFixtures('saved_models')) {
    it(`${fixture.name}: ${fixture.about}`, () => check(fixture, false));
    it(`${fixture.name}, off the event loop`, () => check(fixture, true));
  }

  const folder = (name: string) => readFixture('saved_models', name).folder;

  it('compiles once for calls that come at once', async () => {
    const { addon } = nativeRuntime();
    const { createCallable } = addon;
    const compiled: string[] = [];
    addon.createCallable = ((async: true, program: number, options: string) => {
      compiled.push(`${program} ${options}`);
      return createCallable.call(addon, async, program, options);
    }) as typeof createCallable;
    try {
      const model = await tftrt.loadSavedModel(readFixture('saved_models', 'two_inputs').folder);
      const inputs = { a: tf.tensor1d([1]), z: tf.tensor1d([10]) };
      const predict = () => model.predictAsync(inputs) as Promise<tf.NamedTensorMap>;
      const results = await Promise.all(Array.from({ length: 20 }, predict));
      tf.dispose([inputs, results]);
      model.dispose();
    } finally {
      addon.createCallable = createCallable;
    }
    expect(compiled).to.have.length.at.least(1);
    expect(new Set(compiled).size, 'none twice').to.equal(compiled.length);
  });

  it('binds a list in alphabetical order of the names', async () => {
    const model = await tftrt.loadSavedModel(folder('two_inputs'));
    expect(model.inputs.map(({ name }) => name)).to.deep.equal(['a', 'z']);
    const [b, y] = model.predict([tf.tensor1d([3]), tf.tensor1d([10])]) as tf.Tensor[];
    expect([...(await b!.data())], 'b = z + a').to.deep.equal([13]);
    expect([...(await y!.data())], 'y = z − a').to.deep.equal([7]);
    model.dispose();
  });

  it('tells real shapes and dtypes', async () => {
    const model = await tftrt.loadSavedModel(folder('int64_io'));
    expect(model.inputs.map(({ dtype, tfDtype }) => [dtype, tfDtype])).to.deep.equal([['int32', 'DT_INT64']]);
    expect(model.inputs[0]!.shape).to.deep.equal([-1]);
    model.dispose();
  });

  it('runs to nodes by name', async () => {
    const model = await tftrt.loadSavedModel(folder('two_inputs'));
    const inputs = { a: tf.tensor1d([3]), z: tf.tensor1d([10]) };
    const node = Object.values(model.outputNodeNames)[0]!;
    const byNode = model.execute(inputs, node) as tf.Tensor;
    const byName = model.execute(inputs, ['y', 'y']) as tf.Tensor[];
    expect(byNode.shape).to.deep.equal([1]);
    expect(byName.map((tensor) => tensor.dataSync()[0])).to.deep.equal([7, 7]);
    model.dispose();
  });

  describe('bad input', () => {
    let model: tftrt.SavedModel;
    before(async () => {
      model = await tftrt.loadSavedModel(folder('two_inputs'));
    });
    after(() => model.dispose());
    const a = () => tf.tensor1d([3]);

    async function expectError(work: () => unknown, code: string, ...parts: string[]): Promise<void> {
      const error = await cleanErrorOf(() => tf.tidy(() => work() as tf.Tensor));
      expect(error).to.be.instanceOf(tftrt.TftrtError);
      expect(error.code).to.equal(code);
      for (const part of parts) expect(error.message).to.include(part);
      const after_ = tf.tidy(() => (model.predict({ a: a(), z: a() }) as tf.NamedTensorMap).y!.dataSync());
      expect([...after_], 'the next call works').to.deep.equal([0]);
    }

    it('a missing input', () => expectError(() => model.predict({ a: a() }), 'TFTRT_MISSING_INPUT', "'z'"));
    it('an unknown input', () =>
      expectError(
        () => model.predict({ a: a(), z: a(), q: a() }),
        'TFTRT_UNKNOWN_INPUT',
        "'q'",
        'a: float32',
      ));
    it('too few tensors', () =>
      expectError(() => model.predict([a()]), 'TFTRT_MISSING_INPUT', '2 inputs', 'got 1'));
    it('a wrong dtype', () =>
      expectError(
        () => model.predict({ a: tf.tensor1d([1], 'int32'), z: a() }),
        'TFTRT_INVALID_INPUT',
        "'a'",
        'float32',
        'int32',
      ));
    it('a wrong rank', () =>
      expectError(
        () => model.predict({ a: tf.tensor2d([[1]]), z: a() }),
        'TFTRT_INVALID_INPUT',
        "'a'",
        '[-1]',
        '[1,1]',
      ));
    it('no tensor', () =>
      expectError(
        () => model.predict({ a: 5 as unknown as tf.Tensor, z: a() }),
        'TFTRT_INVALID_INPUT',
        "'a'",
        'number',
      ));
    it('an unknown output', () =>
      expectError(
        () => model.execute({ a: a(), z: a() }, 'nowhere'),
        'TFTRT_UNKNOWN_OUTPUT',
        "'nowhere'",
        'b, y',
      ));
    it('a disposed tensor', () => {
      const gone = a();
      gone.dispose();
      return expectError(() => model.predict({ a: gone, z: a() }), 'TFTRT_TENSOR_DISPOSED', "'a'");
    });
    it('shapes that do not broadcast', () =>
      expectError(
        () => model.predict({ a: tf.tensor1d([1, 2]), z: tf.tensor1d([1, 2, 3]) }),
        'TFTRT_INVALID_ARGUMENT',
        'the graph: ',
      ));
  });

  it('a disposed model', async () => {
    const model = await tftrt.loadSavedModel(folder('two_inputs'));
    model.dispose();
    model.dispose();
    const error = await errorOf(() => model.predict([tf.tensor1d([1]), tf.tensor1d([1])]));
    expect(error.code).to.equal('TFTRT_MODEL_DISPOSED');
  });

  it('a model without the files of its variables', async () => {
    const copy = temporaryFolder();
    fs.cpSync(folder('keras_cnn'), copy, { recursive: true });
    fs.rmSync(`${copy}/variables`, { recursive: true });
    const error = await cleanErrorOf(() => tftrt.loadSavedModel(copy));
    expect(error.code).to.equal('TFTRT_NOT_FOUND');
    expect(error.message).to.include(`${copy}/variables/variables.index`);
  });

  const graph = 'saved_model.pb';
  const index = 'variables/variables.index';
  const data = 'variables/variables.data-00000-of-00001';
  const asset = 'assets/vocabulary.txt';
  const halve = (file: string) => fs.truncateSync(file, fs.statSync(file).size >> 1);
  const disturb = (file: string) => fs.writeFileSync(file, fs.readFileSync(file).reverse());
  const empty = (file: string) => fs.truncateSync(file);
  const write = (file: string) => fs.writeFileSync(file, 'a text, not a part of a model\n'.repeat(20));
  const remove = (file: string) => fs.rmSync(file);
  const replace = (file: string) => {
    fs.rmSync(file);
    fs.mkdirSync(file);
  };
  const damages: Array<[model: string, file: string, ...damages: Array<(file: string) => void>]> = [
    ['keras_cnn', graph, halve, disturb, empty, write, replace],
    ['keras_cnn', index, halve, disturb, empty, write],
    ['keras_cnn', data, halve, disturb, empty],
    ['keras_cnn', data, remove],
    ['hash_table_asset', asset, empty],
    ['hash_table_asset', asset, remove],
  ];
  for (const [model, file, ...ways] of damages) {
    for (const damage of ways) {
      it(`a model whose ${file} is damaged: ${damage.name}`, async () => {
        const copy = path.join(temporaryFolder(), 'model');
        fs.cpSync(folder(model), copy, { recursive: true });
        damage(path.join(copy, file));
        for (const load of [tftrt.loadSavedModel, loadTFSavedModel]) {
          const error = await cleanErrorOf(() => load(copy));
          expect(error.code).to.equal(damage === remove ? 'TFTRT_NOT_FOUND' : 'TFTRT_DATA_LOSS');
          expect(error.message).to.include(`the file ${path.join(copy, file)} `);
          expect(error.message).to.include('Copy or export the model again.');
        }
        if (file === graph) {
          const error = await cleanErrorOf(() => getMetaGraphsFromSavedModel(copy));
          expect(error.message).to.include(`the file ${path.join(copy, file)} `);
        }
        expect(getNumOfSavedModels()).to.equal(0);
      });
    }
  }

  it('a constant without a value, in a model with engines', async () => {
    const copy = path.join(temporaryFolder(), 'model');
    fs.cpSync(folder('two_inputs'), copy, { recursive: true });
    const file = path.join(copy, graph);
    const nodes = [node('engine', 'TRTEngineOp'), node('void', 'Const')];
    fs.writeFileSync(file, withNodes(fs.readFileSync(file), nodes));
    const error = await cleanErrorOf(() => tftrt.loadSavedModel(copy));
    expect(error.code).to.equal('TFTRT_INVALID_ARGUMENT');
    expect(error.message).to.include("node 'void' (Const) has no value");
  });

  /** A copy of a model with bytes of its graph's file replaced by as many others. */
  function changed(name: string, bytes: string, others: string): string {
    const copy = path.join(temporaryFolder(), 'changed');
    fs.cpSync(folder(name), copy, { recursive: true });
    const file = path.join(copy, 'saved_model.pb');
    const content = fs.readFileSync(file, 'latin1');
    expect(content.split(bytes)).to.have.length(2);
    fs.writeFileSync(file, content.replace(bytes, others), 'latin1');
    return copy;
  }

  it('takes names of signatures that JSON would not', async () => {
    const copy = changed('multi_signature', '\n\x05count\x12', '\n\x05c"\\\nt\x12');
    const model = await tftrt.loadSavedModel(copy, { signature: 'c"\\\nt' });
    expect(model.inputs.map(({ name }) => name)).to.deep.equal(['ids', 'size']);
    model.dispose();
  });

  it('refuses a signature of resources, and takes the others of its model', async () => {
    const copy = changed('multi_signature', '\x0ccount_size:0\x10\x03', '\x0ccount_size:0\x10\x14'); // DT_RESOURCE
    (await tftrt.loadSavedModel(copy)).dispose();
    (await loadTFSavedModel(copy)).dispose();
    for (const load of [
      () => tftrt.loadSavedModel(copy, { signature: 'count' }),
      () => loadTFSavedModel(copy, ['serve'], 'count'),
    ]) {
      const error = await cleanErrorOf(load);
      expect(error.code).to.equal('TFTRT_UNSUPPORTED_DTYPE');
      expect(error.message).to.include("'count'").and.to.include("'size'");
    }
  });

  it('a file, and a folder without a model', async () => {
    const file = path.join(folder('two_inputs'), 'saved_model.pb');
    expect((await cleanErrorOf(() => tftrt.loadSavedModel(file))).message).to.equal(
      `There is no SavedModel at ${file}: that is a file; name the folder that it is in.`,
    );
    expect((await cleanErrorOf(() => tftrt.loadSavedModel(`${file}/below`))).message).to.equal(
      `There is no SavedModel at ${file}/below: the folder does not exist.`,
    );
    expect((await cleanErrorOf(() => tftrt.loadSavedModel(temporaryFolder()))).message).to.equal(
      `There is no SavedModel at ${temporaryFolder()}: the folder has no saved_model.pb.`,
    );
  });

  it('arguments of the wrong kind', async () => {
    const bad: unknown[][] = [
      [undefined],
      ['file:///x'],
      [''],
      [folder('two_inputs'), { tags: 'serve' }],
      [folder('two_inputs'), { signature: 5 }],
      [folder('two_inputs'), { tag: ['serve'] }],
      [folder('two_inputs'), ['serve']],
    ];
    for (const given of bad) {
      const error = await cleanErrorOf(() => tftrt.loadSavedModel(...(given as [string])));
      expect(error.code).to.equal('TFTRT_INVALID_ARGUMENT');
    }
  });

  it('gives tensors of the backend while another one is active', async () => {
    const model = await tftrt.loadSavedModel(folder('two_inputs'));
    await tf.setBackend('cpu');
    try {
      const [b, y] = model.predict([tf.tensor1d([3]), tf.tensor1d([10])]) as tf.Tensor[];
      expect([(await b!.data())[0], y!.dataSync()[0]]).to.deep.equal([13, 7]);
    } finally {
      await tf.setBackend('tftrt');
      model.dispose();
    }
  });

  it('a folder, tags or a signature that are not there', async () => {
    const none = await cleanErrorOf(() => tftrt.loadSavedModel('/nowhere/at/all'));
    expect(none.code).to.equal('TFTRT_NOT_FOUND');
    expect(none.message).to.include('/nowhere/at/all');
    const tags = await cleanErrorOf(() => tftrt.loadSavedModel(folder('two_inputs'), { tags: ['train'] }));
    expect(tags.code).to.equal('TFTRT_NOT_FOUND');
    expect(tags.message).to.include('[train]').and.to.include('[serve]');
    const signature = await cleanErrorOf(() =>
      tftrt.loadSavedModel(folder('two_inputs'), { signature: 'x' }),
    );
    expect(signature.code).to.equal('TFTRT_NOT_FOUND');
    expect(signature.message).to.include("'x'").and.to.include('serving_default');
  });
});

async function check(fixture: Fixture, async: boolean): Promise<void> {
  const before_ = live();
  for (const call of fixture.cases) {
    const { tags, signature } = call;
    const model = await tftrt.loadSavedModel(fixture.folder, {
      ...(tags && { tags }),
      ...(signature && { signature }),
    });
    const inputs = toTensors(call.inputs);
    const run = async (): Promise<tf.NamedTensorMap> => {
      if (call.fetch === undefined) {
        return (async ? await model.predictAsync(inputs) : model.predict(inputs)) as tf.NamedTensorMap;
      }
      const results = (
        async ? await model.executeAsync(inputs, call.fetch) : model.execute(inputs, call.fetch)
      ) as tf.Tensor[];
      return Object.fromEntries(results.map((tensor, i) => [call.fetch![i]!, tensor]));
    };
    if (Object.values(call.outputs).some(exceedsInt32)) {
      const error = await errorOf(run);
      expect(error.code, call.name).to.equal('TFTRT_OUT_OF_RANGE');
    } else {
      await compare(call, await run());
    }
    tf.dispose(inputs);
    model.dispose();
  }
  expect(live()).to.deep.equal(before_);
}

async function compare(call: FixtureCase, outputs: tf.NamedTensorMap): Promise<void> {
  expect(Object.keys(outputs).sort()).to.deep.equal(Object.keys(call.outputs).sort());
  for (const [name, wanted] of Object.entries(call.outputs)) {
    expect(await mismatch(outputs[name]!, wanted, call.tolerance), `${call.name}, output ${name}`).to.equal(
      null,
    );
  }
  tf.dispose(outputs);
}

/** A field of a message in protobuf's wire format, with bytes in it. */
function field(number: number, ...parts: Uint8Array[]): Buffer {
  const bytes = Buffer.concat(parts);
  const length: number[] = [];
  let left = bytes.length;
  for (; left > 127; left >>= 7) length.push((left & 127) | 128);
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length, left]), bytes]);
}

/** A node of a tensorflow.GraphDef without attributes. */
function node(name: string, op: string): Buffer {
  return field(1, field(1, Buffer.from(name)), field(2, Buffer.from(op)));
}

/** The file of a SavedModel, a tensorflow.SavedModel with one graph, with more nodes in the graph. */
function withNodes(file: Buffer, nodes: Buffer[]): Buffer {
  expect([...file.subarray(0, 3)], 'schema version 1, then the meta graph').to.deep.equal([0x08, 1, 0x12]);
  let [at, length] = [3, 0];
  for (let shift = 0; ; shift += 7) {
    const byte = file[at++]!;
    length |= (byte & 127) << shift;
    if (byte < 128) break;
  }
  expect(at + length, 'the end of the meta graph').to.equal(file.length);
  // Of a message that comes twice, the second adds to the first.
  return Buffer.concat([file.subarray(0, 2), field(2, file.subarray(at), field(2, ...nodes))]);
}
