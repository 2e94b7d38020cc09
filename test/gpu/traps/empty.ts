// Models whose engines are given no rows (tensorrt#191), where nothing in JavaScript takes such calls first. Each function is a
// process's whole work.

import fs from 'node:fs';
import * as tf from '@tensorflow/tfjs';
import { createInferenceGraph, loadFrozenGraph, TftrtError } from 'tfjs-backend-tftrt';
import { node as tfNode } from 'tfjs-backend-tftrt/node';
import { readFixture } from '../../support/fixtures';
import { build, type ConversionReport } from '../api';
import { denseNodes, disorder, FLOAT, floats, graphModel, node, placeholder, tensorOf } from '../graphs';
import { buildOrRefuse, relativeError } from '../outcome';

/** What came of a call. */
export interface Called {
  readonly rows: number;
  /** Of each output. */
  readonly shapes?: number[][];
  /** The largest difference from what TensorFlow gave before for as many rows. */
  readonly error?: number;
  /** The code of a refusal. */
  readonly refused?: string;
}

export interface EmptyResult {
  /** What serves after the build, or the code with which it was refused. */
  readonly built: string;
  readonly calls: Called[];
}

type Answer = Array<{ shape: number[]; values: number[] }>;
type Call = (rows: number) => unknown;

/** More than enough for a CUDA graph to be tried. */
const MANY = new Array(12).fill(0);

/** Shapes and values of all outputs; disposes of them. */
async function answerOf(result: unknown): Promise<Answer> {
  const outputs = result instanceof tf.Tensor ? [result] : Object.values(result as tf.Tensor[]);
  const answer: Answer = [];
  for (const output of outputs) {
    answer.push({ shape: output.shape, values: Array.from(await output.data()) });
    output.dispose();
  }
  return answer;
}

async function answersOf(rows: readonly number[], call: Call): Promise<Map<number, Answer>> {
  const answers = new Map<number, Answer>();
  for (const count of new Set(rows)) if (count > 0) answers.set(count, await answerOf(await call(count)));
  return answers;
}

/** Calls for so many rows each. Anything but an answer or an error of this package is a failure. */
async function callAll(
  rows: readonly number[],
  expected: ReadonlyMap<number, Answer>,
  call: Call,
): Promise<Called[]> {
  const calls: Called[] = [];
  for (const count of rows) {
    try {
      const answer = await answerOf(await call(count));
      const errors = answer.map(({ values }, i) =>
        relativeError(values, expected.get(count)?.[i]?.values ?? []),
      );
      calls.push({ rows: count, shapes: answer.map(({ shape }) => shape), error: Math.max(...errors) });
    } catch (error) {
      if (!(error instanceof TftrtError) || error.message === '') throw error;
      calls.push({ rows: count, refused: error.code });
    }
  }
  return calls;
}

/** A SavedModel with an open batch, whose engine is for 1 to 3 rows. */
export async function savedModel({ name, shape }: { name: string; shape: number[] }): Promise<EmptyResult> {
  const model = await tfNode.loadSavedModel(readFixture('saved_models', name).folder);
  let calls = 0;
  const call = async (count: number) => {
    const input = tensorOf(disorder([count, ...shape], 1));
    const inputs = { [name === 'keras_cnn' ? 'image' : 'x']: input };
    const result = calls++ % 2 === 0 ? model.predict(inputs) : await model.predictAsync(inputs);
    input.dispose();
    return result;
  };
  const rows = [3, 0, 1, ...MANY, 3];
  const expected = await answersOf(rows, call);
  const report = await build(model, { profiles: [{ min: [1, ...shape], max: [3, ...shape] }] });
  const result = { built: report.serving, calls: await callAll(rows, expected, call) };
  model.dispose();
  return result;
}

/** A graph with engines in it, which the session itself runs: the first call has no rows, too. */
export async function inferenceGraph(): Promise<EmptyResult> {
  const source = new Uint8Array(fs.readFileSync(`${readFixture('frozen_graphs', 'layers').folder}.pb`));
  const outputs = ['probabilities', 'product'];
  const rows = [0, 4, 0, 1, ...MANY, 4];
  const callOf = (model: Awaited<ReturnType<typeof loadFrozenGraph>>) => (count: number) => {
    const inputs = { image: tensorOf(disorder([count, 8, 8, 3], 1)), 'input/scale': tf.scalar(1.5) };
    const result = model.predict(inputs);
    tf.dispose(inputs);
    return result;
  };
  const original = await loadFrozenGraph(source, { outputs });
  const expected = await answersOf(rows, callOf(original));
  const converted = await createInferenceGraph(source, outputs, { maxBatchSize: 4 });
  const built = Buffer.from(converted).includes('TRTEngineOp') ? 'tensorrt' : 'tensorflow';
  const model = await loadFrozenGraph(converted, { outputs });
  const calls = await callAll(rows, expected, callOf(model));
  original.dispose();
  model.dispose();
  return { built, calls };
}

/** y = 2·relu(x·W + b) for those rows of x whose score is above zero. */
function filteringModel() {
  return graphModel(
    [
      placeholder('x', [-1, 8]),
      placeholder('score', [-1]),
      node('above', 'Greater', ['score', 'zero']),
      node('where', 'Where', ['above'], { T: { type: 'DT_BOOL' } }),
      node('rows', 'GatherNd', ['x', 'where'], { Tparams: FLOAT, Tindices: { type: 'DT_INT64' } }),
      ...denseNodes('rows'),
    ],
    { zero: floats([], 0), two: floats([], 2), w: disorder([8, 16], 5), b: disorder([16], 6) },
  );
}

/** A batch that becomes empty inside of the graph, in front of the engine. `sampled` rows are left of the sample's four. */
export async function emptiedInside(sampled: number): Promise<EmptyResult> {
  const model = await filteringModel();
  const inputs = (count: number) => ({
    x: tensorOf(disorder([4, 8], 7)),
    score: tf.tensor1d([0, 1, 2, 3].map((i) => (i < count ? 1 : -1))),
  });
  const call = async (count: number) => {
    const fed = inputs(count);
    const result = await model.executeAsync(fed);
    tf.dispose(fed);
    return result;
  };
  const rows = [2, 0, 1, 4, ...MANY, 2];
  const expected = await answersOf(rows, call);
  const sample = inputs(sampled);
  const { report, refused } = await buildOrRefuse(model, { inputs: [sample] });
  tf.dispose(sample);
  const calls = await callAll(rows, expected, call);
  model.dispose();
  return { built: refused ?? (report as ConversionReport).serving, calls };
}
