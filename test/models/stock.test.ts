// The fixtures themselves: tfjs's own executor, on its own cpu backend, must agree with what Python's TensorFlow gave.
// Otherwise a wrong fixture would pass for a fault of ours, or hide one.

import assert from 'node:assert/strict';
import path from 'node:path';
import '@tensorflow/tfjs-backend-cpu';
import { loadGraphModel } from '@tensorflow/tfjs-converter';
import * as tf from '@tensorflow/tfjs-core';
import { diskHandler } from '../support/disk_handler';
import {
  type Fixture,
  type FixtureCase,
  mismatch,
  readFixtures,
  registerFixtureOps,
  toTensors,
} from '../support/fixtures';

describe('fixtures on the stock executor', () => {
  let backend: string | undefined;
  let deregister: () => void;

  before(async () => {
    backend = tf.getBackend(); // undefined when none was chosen yet
    await tf.setBackend('cpu');
    deregister = registerFixtureOps();
  });
  after(async () => {
    deregister();
    if (backend) await tf.setBackend(backend);
  });

  for (const fixture of readFixtures('graph_models')) {
    const title = fixture.stock ? `fails as stated: ${fixture.stock}` : fixture.about;
    it(`${fixture.name}: ${title}`, async () => {
      const problems = await run(fixture);
      if (fixture.stock)
        assert.notEqual(problems.length, 0, 'it works: make_fixtures.py need not say otherwise');
      else assert.deepEqual(problems, []);
    });
  }
});

async function run(fixture: Fixture): Promise<string[]> {
  const problems: string[] = [];
  const model = await loadGraphModel(diskHandler(path.join(fixture.folder, 'model.json')));
  for (const call of fixture.cases) {
    const inputs = toTensors(call.inputs);
    let outputs: tf.Tensor[] = [];
    try {
      const result = await model.executeAsync(inputs, call.fetch ?? model.outputNodes);
      outputs = Array.isArray(result) ? result : [result];
      problems.push(...(await compare(call, call.fetch ?? model.outputNodes, outputs)));
    } catch (error) {
      problems.push(`${call.name}: ${(error as Error).message}`);
    }
    tf.dispose([inputs, outputs]);
  }
  model.dispose();
  return problems;
}

async function compare(call: FixtureCase, names: string[], outputs: tf.Tensor[]): Promise<string[]> {
  const expected = Object.entries(call.outputs);
  assert.deepEqual(
    names,
    expected.map(([name]) => name),
  );
  const found: string[] = [];
  for (const [i, [name, tensor]] of expected.entries()) {
    const problem = await mismatch(outputs[i]!, tensor, call.tolerance);
    if (problem) found.push(`${call.name}, ${name}: ${problem}`);
  }
  return found;
}
