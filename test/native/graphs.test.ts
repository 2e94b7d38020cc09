import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { DT } from '#src/dtypes';
import { type GraphArguments, type Handle, type NativeAddon, nativeRuntime } from '#src/native';
import { mismatch, readFixture, toTensors } from '../support/fixtures';
import { errorOf, live, onTftrt } from '../support/tftrt';

/** What engines are found again by: the structure and the constants of a graph, not its names. */
describe('canonical graphs', () => {
  onTftrt();
  let addon: NativeAddon;
  let folder: string;
  before(() => {
    addon = nativeRuntime().addon;
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tftrt-graphs-'));
  });
  after(() => fs.rmSync(folder, { recursive: true }));

  interface Names {
    readonly x: string;
    readonly w: string;
    readonly product: string;
    readonly y: string;
  }
  const plain: Names = { x: 'x', w: 'w', product: 'product', y: 'y' };
  const node = (name: string, op: string, input: string[] = []) => ({
    name,
    op,
    input,
    attr: {
      ...(op === 'Const' || op === 'Placeholder'
        ? { dtype: { type: 'DT_FLOAT' } }
        : { T: { type: 'DT_FLOAT' } }),
    },
  });

  /** relu(x · w), and a node that nothing needs. */
  function create(names: Names, weight: number[], extra: object[] = [], reversed = false): Promise<Handle> {
    const nodes = [
      node(names.x, 'Placeholder'),
      node(names.w, 'Const'),
      node(names.product, 'Mul', [names.x, names.w]),
      node(names.y, 'Relu', [names.product]),
      node('unused', 'Neg', [names.x]),
      ...extra,
    ];
    const graph = JSON.stringify({ node: reversed ? nodes.reverse() : nodes, versions: { producer: 1900 } });
    const rest: GraphArguments = [
      graph,
      [names.w],
      [DT.FLOAT],
      [[weight.length]],
      [new Float32Array(weight)],
      [`${names.x}:0`],
      [DT.FLOAT],
      [`${names.y}:0`],
      [],
    ];
    return addon.createGraph(true, ...rest);
  }

  async function fingerprint(...graph: Parameters<typeof create>): Promise<string> {
    const handle = await create(...graph);
    const described = addon.describeGraph(handle);
    addon.releaseGraph(handle);
    return described.fingerprint;
  }

  it('are the same under other names and in another order', async () => {
    const renamed: Names = { x: 'input_7', w: 'scope/weights', product: 'a', y: 'b/c' };
    const expected = await fingerprint(plain, [1, 2]);
    expect(await fingerprint(renamed, [1, 2])).to.equal(expected);
    expect(await fingerprint(plain, [1, 2], [node('more', 'Abs', ['x'])], true)).to.equal(expected);
  });

  it('differ where a weight does', async () => {
    expect(await fingerprint(plain, [1, 2])).not.to.equal(await fingerprint(plain, [1, 2.5]));
  });

  it('are cut down to the outputs, with a placeholder for each feed', async () => {
    const handle = await create(plain, [1]);
    const { feeds, fetches, initializers } = addon.describeGraph(handle);
    expect(feeds).to.deep.equal(['feed_0']);
    expect(fetches).to.deep.equal(['n0:0']);
    expect(initializers).to.deep.equal([]);
    await addon.writeGraph(handle, path.join(folder, 'graph.pb'));
    const bytes = fs.readFileSync(path.join(folder, 'graph.pb'));
    expect(bytes.includes('Relu')).to.equal(true);
    expect(bytes.includes('Neg')).to.equal(false);
    addon.releaseGraph(handle);
    expect((await errorOf(() => addon.describeGraph(handle))).code).to.equal('TFTRT_INVALID_HANDLE');
  });

  it('refuse an input that is not there, and a folder that is not', async () => {
    const broken = node('z', 'Neg', ['nowhere']);
    const graph = JSON.stringify({ node: [broken], versions: { producer: 1900 } });
    const missing = await errorOf(() => addon.createGraph(true, graph, [], [], [], [], [], [], ['z:0'], []));
    expect(missing.code).to.equal('TFTRT_NOT_FOUND');
    expect(missing.message).to.include("'nowhere'");
    const handle = await create(plain, [1]);
    expect((await errorOf(() => addon.writeGraph(handle, '/nowhere/graph.pb'))).code).to.equal(
      'TFTRT_NOT_FOUND',
    );
    addon.releaseGraph(handle);
  });

  it('come from SavedModels, with the variables as constants', async () => {
    const model = readFixture('saved_models', 'keras_cnn').folder;
    const program = await addon.loadSavedModel(true, model, ['serve'], '{"deviceCount":{"GPU":0}}');
    const signature = JSON.parse(addon.programSignatures(program)).signatureDef.serving_default;
    const names = (endpoints: object) => Object.values(endpoints).map(({ name }: { name: string }) => name);
    const freeze = () =>
      addon.freezeProgram(true, program, names(signature.inputs), names(signature.outputs));
    const once = await freeze();
    const twice = await freeze();
    expect(addon.describeGraph(once).fingerprint).to.equal(addon.describeGraph(twice).fingerprint);
    await addon.writeGraph(once, path.join(folder, 'frozen.pb'));
    const bytes = fs.readFileSync(path.join(folder, 'frozen.pb'));
    for (const op of ['VarHandleOp', 'ReadVariableOp', 'PartitionedCall']) {
      expect(bytes.includes(op), op).to.equal(false);
    }
    for (const handle of [once, twice]) addon.releaseGraph(handle);
    addon.releaseProgram(program);
  });

  for (const name of ['table_and_layers', 'asset_and_layers']) {
    it(`come from SavedModels with tables, and nodes that fill them (${name})`, async () => {
      const before_ = live();
      const { folder: directory, cases } = readFixture('saved_models', name);
      const program = await addon.loadSavedModel(true, directory, ['serve'], '{"deviceCount":{"GPU":0}}');
      const { inputs, outputs } = JSON.parse(addon.programSignatures(program)).signatureDef.serving_default;
      const [inputNames, outputNames] = [Object.keys(inputs), Object.keys(outputs)];
      const tensorsOf = (endpoints: Record<string, { name: string }>, names: string[]) =>
        names.map((endpoint) => endpoints[endpoint]!.name);
      const frozen = await addon.freezeProgram(
        true,
        program,
        tensorsOf(inputs, inputNames),
        tensorsOf(outputs, outputNames),
      );
      addon.releaseProgram(program); // what follows needs nothing of it
      const { feeds, fetches, initializers } = addon.describeGraph(frozen);
      await addon.writeGraph(frozen, path.join(folder, 'tables.pb'));
      addon.releaseGraph(frozen);
      const bytes = new Uint8Array(fs.readFileSync(path.join(folder, 'tables.pb')));
      expect(Buffer.from(bytes).includes('ResourceGather')).to.equal(false);
      const model = await tftrt.loadFrozenGraph(bytes, { inputs: feeds, outputs: fetches });
      const { handle } = (model as unknown as { program: { handle: Handle } }).program;
      addon.runProgramTargets(handle, initializers);
      for (const call of cases) {
        const fed = toTensors(call.inputs);
        const results = model.predict(inputNames.map((input) => fed[input]!)) as tf.Tensor[];
        for (const [i, output] of outputNames.entries()) {
          const problem = await mismatch(results[i]!, call.outputs[output]!, call.tolerance);
          expect(problem, `${call.name}, ${output}`).to.equal(null);
        }
        tf.dispose([fed, results]);
      }
      model.dispose();
      expect(live()).to.deep.equal(before_);
    });
  }

  it('do not come from SavedModels that keep other state', async () => {
    const { folder: directory } = readFixture('saved_models', 'dense_table_and_layers');
    const program = await addon.loadSavedModel(true, directory, ['serve'], '{"deviceCount":{"GPU":0}}');
    const { inputs, outputs } = JSON.parse(addon.programSignatures(program)).signatureDef.serving_default;
    const names = (endpoints: Record<string, { name: string }>) =>
      Object.values(endpoints).map(({ name }) => name);
    const error = await errorOf(() => addon.freezeProgram(true, program, names(inputs), names(outputs)));
    expect(error.code, error.message).to.equal('TFTRT_NOT_FREEZABLE');
    expect(error.message).to.include('MutableDenseHashTable');
    addon.releaseProgram(program);
  });

  it('are not of programs that write variables, which the addon knows', () => {
    const float = { type: 'DT_FLOAT' };
    const nodes = [
      { name: 'v', op: 'VarHandleOp', attr: { dtype: float, shape: { shape: {} } } },
      {
        name: 'one',
        op: 'Const',
        attr: { dtype: float, value: { tensor: { dtype: 'DT_FLOAT', floatVal: [1] } } },
      },
      { name: 'more', op: 'AssignAddVariableOp', input: ['v', 'one'], attr: { dtype: float } },
      { name: 'read', op: 'ReadVariableOp', input: ['v'], attr: { dtype: float } },
      { name: 'after', op: 'ReadVariableOp', input: ['v', '^more'], attr: { dtype: float } },
      {
        name: 'called',
        op: 'StatefulPartitionedCall',
        input: ['v', 'one'],
        attr: {
          Tin: { list: { type: ['DT_RESOURCE', 'DT_FLOAT'] } },
          Tout: { list: {} },
          f: { func: { name: 'add' } },
        },
      },
    ];
    const add = {
      signature: {
        name: 'add',
        inputArg: [
          { name: 'v', type: 'DT_RESOURCE' },
          { name: 'x', type: 'DT_FLOAT' },
        ],
        isStateful: true,
      },
      nodeDef: [{ name: 'a', op: 'AssignAddVariableOp', input: ['v', 'x'], attr: { dtype: float } }],
    };
    const graph = JSON.stringify({ node: nodes, library: { function: [add] }, versions: { producer: 1900 } });
    const program = addon.createProgram(false, graph, '{"deviceCount":{"GPU":0}}', [], [], [], []);
    const writes = (name: string) => addon.programWrites(program, [name]);
    expect(['read:0', 'one:0', 'more', 'after:0', 'called'].map(writes)).to.deep.equal([
      false,
      false,
      true,
      true,
      true,
    ]);
    addon.releaseProgram(program);
  });
});
