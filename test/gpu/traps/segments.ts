// Graphs whose segments have ended processes, or gave wrong answers. Each function builds, and returns what came of it.

import * as tf from '@tensorflow/tfjs';
import type { BuildOptions, ConversionReport } from '../api';
import { FLOAT, floats, graphModel, INT, node, placeholder } from '../graphs';
import { buildOrRefuse, type Outcome, predict, valuesOf } from '../outcome';

interface Answer {
  readonly shape: number[];
  readonly values: number[];
}

export interface TrapResult extends Outcomes {
  readonly answers: Answer[];
}

type Outcomes = { readonly outcome: Outcome };

const ANY_MATRIX = { profiles: [{ min: [1, 1], opt: [2, 3], max: [8, 8] }] };

/** y = 2·relu(x + 1), and its shape. */
function shapeGraph() {
  return graphModel(
    [
      placeholder('x', [-1, -1]),
      node('sum', 'AddV2', ['x', 'one']),
      node('relu', 'Relu', ['sum']),
      node('y', 'Mul', ['relu', 'two']),
      node('shape', 'Shape', ['y'], { T: FLOAT, out_type: INT }),
    ],
    { one: floats([], 1), two: floats([], 2) },
  );
}

async function shapes(outputs: string[], options: BuildOptions): Promise<TrapResult> {
  const model = await shapeGraph();
  const outcome = await buildOrRefuse(model, { ...options, outputs });
  const answers: Answer[] = [];
  for (const shape of [
    [2, 3],
    [5, 4],
    [2, 3],
  ]) {
    const input = tf.fill(shape, -0.5);
    const results = [model.execute(input, outputs)].flat() as tf.Tensor[];
    for (const result of results) answers.push({ shape: result.shape, values: await valuesOf(result) });
    input.dispose();
  }
  model.dispose();
  return { outcome, answers };
}

/** tensorrt#251: the output of a segment is a Shape op; ended the process in dynamic mode. */
export const shapeAsOutput = () => shapes(['shape'], ANY_MATRIX);
export const shapeAsOutputOfFixedSize = () => shapes(['shape'], { inputs: [tf.ones([2, 3])] });
export const shapeBesideAnOutput = () => shapes(['shape', 'y'], ANY_MATRIX);

/** The shape is read inside of the graph: reshape(y, shape(x)·[1, 1]). */
export async function shapeForReshape(): Promise<TrapResult> {
  const model = await graphModel(
    [
      placeholder('x', [-1, -1]),
      node('sum', 'AddV2', ['x', 'one']),
      node('relu', 'Relu', ['sum']),
      node('product', 'Mul', ['relu', 'two']),
      node('shape', 'Shape', ['x'], { T: FLOAT, out_type: INT }),
      node('flat', 'Reshape', ['product', 'all'], { T: FLOAT, Tshape: INT }),
      node('negative', 'Neg', ['flat']),
      node('y', 'Reshape', ['negative', 'shape'], { T: FLOAT, Tshape: INT }),
    ],
    { one: floats([], 1), two: floats([], 2), all: { shape: [1], values: Int32Array.of(-1) } },
  );
  const outcome = await buildOrRefuse(model, ANY_MATRIX);
  const answers = [await predict(model, tf.ones([2, 3])), await predict(model, tf.ones([4, 2]))];
  model.dispose();
  return { outcome, answers };
}

/** y = 2·(relu(x) + 1) */
function elementwise(shape: number[]) {
  return graphModel(
    [
      placeholder('x', shape),
      node('relu', 'Relu', ['x']),
      node('sum', 'AddV2', ['relu', 'one']),
      node('y', 'Mul', ['sum', 'two']),
    ],
    { one: floats([], 1), two: floats([], 2) },
  );
}

/** tensorrt#191: an engine that is fed no rows. */
export async function noRows(): Promise<TrapResult> {
  const model = await elementwise([-1, 4]);
  const outcome = await buildOrRefuse(model, { profiles: [{ min: [1, 4], opt: [2, 4], max: [8, 4] }] });
  const answers: Answer[] = [];
  for (const rows of [2, 0, 1, 0, 8]) answers.push(await predict(model, tf.fill([rows, 4], 3)));
  model.dispose();
  return { outcome, answers };
}

/** The same where the sample itself has no rows. */
export async function noRowsInTheSample(): Promise<TrapResult> {
  const model = await elementwise([-1, 4]);
  const outcome = await buildOrRefuse(model, { inputs: [tf.zeros([0, 4])] });
  const answers = [await predict(model, tf.zeros([0, 4])), await predict(model, tf.fill([1, 4], 3))];
  model.dispose();
  return { outcome, answers };
}

/** tensorflow#36724: segments of two nodes; a failing engine then met a fatal CHECK at its next run. */
export async function segmentsOfTwo(): Promise<TrapResult> {
  const model = await elementwise([-1, 4]);
  const outcome = await buildOrRefuse(model, { inputs: [tf.ones([2, 4])], minimumSegmentSize: 2 });
  const answers: Answer[] = [];
  for (const rows of [2, 3, 2]) answers.push(await predict(model, tf.fill([rows, 4], 3)));
  model.dispose();
  return { outcome, answers };
}

/**
 * tensorflow#46453: boxes in pixels, whose overlap of 72/90 = 0.80 is below the threshold of 0.81. TensorFlow keeps both; a rule
 * that counts pixels at the border gives 90/110 = 0.818, and keeps one.
 */
export async function boxesInPixels(): Promise<TrapResult> {
  const model = await graphModel(
    [
      placeholder('boxes', [1, 2, 4]),
      placeholder('scores', [1, 2, 1]),
      node('relu', 'Relu', ['boxes']),
      node('doubled', 'Mul', ['relu', 'two']),
      node('halved', 'Mul', ['doubled', 'half']),
      node('one_class', 'ExpandDims', ['halved', 'axis'], { T: FLOAT, Tdim: INT }),
      node('nms', 'CombinedNonMaxSuppression', ['one_class', 'scores', 'size', 'size', 'overlap', 'least'], {
        pad_per_class: { b: false },
        clip_boxes: { b: false },
      }),
      node('valid', 'Identity', ['nms:3'], { T: INT }),
      node('kept', 'Identity', ['nms:1'], { T: FLOAT }),
    ],
    {
      two: floats([], 2),
      half: floats([], 0.5),
      axis: { shape: [], values: Int32Array.of(2) },
      size: { shape: [], values: Int32Array.of(2) },
      overlap: floats([], 0.81),
      least: floats([], 0.1),
    },
  );
  const inputs = {
    boxes: tf.tensor([0, 0, 9, 9, 0, 1, 9, 10], [1, 2, 4]),
    scores: tf.tensor([0.9, 0.8], [1, 2, 1]),
  };
  const outputs = ['valid', 'kept'];
  const outcome = await buildOrRefuse(model, { inputs: [inputs], outputs });
  const answers: Answer[] = [];
  for (const result of model.execute(inputs, outputs) as tf.Tensor[]) {
    answers.push({ shape: result.shape, values: await valuesOf(result) });
  }
  model.dispose();
  if (outcome.report === undefined) return { outcome, answers };
  // Getters do not travel between processes.
  return { outcome: { report: outcome.report.toJSON() as ConversionReport }, answers };
}
