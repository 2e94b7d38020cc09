import { pathToFileURL } from 'node:url';
import type { GraphModel, Tensor } from '@tensorflow/tfjs';
import { microseconds, milliseconds, sampleForATurn } from '../sampling';
import { SIDES } from '../sides';
import { medianAtMost, timesAsFast } from '../targets';
import type { Case, Prepared, Side } from '../types';
import { seededFloats, spread } from '../values';

/** Loads the GraphModel in a folder, as user code does. */
export function loadGraph(side: Side, folder: string): Promise<GraphModel> {
  return side.tf.loadGraphModel(`${pathToFileURL(folder).href}/model.json`);
}

/** Measures predict + dataSync + dispose, in ms, and gives the last values. */
export function predictAndRead(model: { predict(x: Tensor): unknown }, x: Tensor): Prepared {
  let last: ArrayLike<number> = [];
  const run = () => {
    const y = model.predict(x) as Tensor;
    last = y.dataSync();
    y.dispose();
  };
  return { warmUp: run, turn: () => sampleForATurn(milliseconds(run)), output: () => spread(last) };
}

function mobilenet(batch: number): Case {
  return {
    name: batch === 1 ? 'graph-mobilenet' : `graph-mobilenet-${batch}`,
    title: `GraphModel MobileNetV2 224², batch ${batch}: predict + dataSync + dispose`,
    unit: 'ms',
    better: 'lower',
    sides: SIDES,
    targets: batch === 1 ? [timesAsFast(2)] : [],
    async prepare(side, models) {
      const model = await loadGraph(side, models.mobilenetGraphModel);
      const x = side.tf.tensor(seededFloats(batch * 224 * 224 * 3), [batch, 224, 224, 3]);
      return predictAndRead(model, x);
    },
  };
}

const oneOp: Case = {
  name: 'one-op',
  title: 'GraphModel of one op: predict + dispose',
  unit: 'µs',
  better: 'lower',
  sides: SIDES,
  targets: [medianAtMost(25, 'µs')],
  async prepare(side, models) {
    const model = await loadGraph(side, models.oneOpGraphModel);
    const shape = fixedShape(model.inputs[0]?.shape);
    const x = side.tf.tensor(seededFloats(shape.reduce((a, b) => a * b, 1)), shape);
    const run = () => (model.predict(x) as Tensor).dispose();
    const output = () => {
      const y = model.predict(x) as Tensor;
      const values = spread(y.dataSync());
      y.dispose();
      return values;
    };
    return { warmUp: run, turn: () => sampleForATurn(microseconds(run)), output };
  },
};

/** The shape of an input with 1 for what the model leaves open. */
export function fixedShape(shape: readonly number[] | undefined): number[] {
  return (shape ?? []).map((size) => (size > 0 ? size : 1));
}

/** Whole models of tfjs's own format. */
export const graphCases: readonly Case[] = [mobilenet(1), mobilenet(8), oneOp];
