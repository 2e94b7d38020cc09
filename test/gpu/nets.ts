// Small networks with only GPU nodes: what CUDA graphs are made of.

import * as tf from '@tensorflow/tfjs';
import { bytesAttr, type NodeDef } from '#src/program/graph_def';
import {
  type Constant,
  disorder,
  FLOAT,
  floats,
  graphModel,
  INT,
  ints,
  node,
  placeholder,
  SAME_CONVOLUTION,
  tensorOf,
} from './graphs';

export interface Net {
  readonly name: string;
  /** Loads the same model each time. */
  load(): Promise<tf.GraphModel>;
  /** Inputs by name, different ones for each seed. */
  inputs(seed: number): Record<string, Constant>;
}

const MATMUL = { T: FLOAT, transpose_a: { b: false }, transpose_b: { b: false } };
const BIAS = { T: FLOAT, data_format: bytesAttr('NHWC') };
const OVER_AXES = { T: FLOAT, Tidx: INT, keep_dims: { b: false } };

/** Weights that keep the values of a layer with so many inputs about where they were. */
function weights(shape: number[], seed: number): Constant {
  const inputs = shape.slice(0, -1).reduce((product, size) => product * size, 1);
  const { values } = disorder(shape, seed);
  return { shape, values: Float32Array.from(values, (value) => value / Math.sqrt(inputs)) };
}

/** relu(x·W + b), `layers` times. */
export function denseNet({ rows = 4, width = 64, layers = 3, seed = 1 } = {}): Net {
  const nodes: NodeDef[] = [placeholder('x', [-1, width])];
  const constants: Record<string, Constant> = {};
  for (let i = 0; i < layers; i++) {
    constants[`w${i}`] = weights([width, width], seed + i);
    constants[`b${i}`] = disorder([width], seed + 50 + i);
    nodes.push(
      node(`product${i}`, 'MatMul', [i === 0 ? 'x' : `y${i - 1}`, `w${i}`], MATMUL),
      node(`sum${i}`, 'BiasAdd', [`product${i}`, `b${i}`], BIAS),
      node(`y${i}`, 'Relu', [`sum${i}`]),
    );
  }
  return {
    name: `dense ${rows}×${width}, ${layers} layers`,
    load: () => graphModel(nodes, constants),
    inputs: (inputSeed) => ({ x: disorder([rows, width], inputSeed) }),
  };
}

/** Convolutions without anything else, so that the last kernel is cuDNN's. */
export function convolutionsOnlyNet({ size = 24, channels = 16, layers = 3, seed = 1 } = {}): Net {
  const nodes: NodeDef[] = [placeholder('x', [-1, size, size, channels])];
  const constants: Record<string, Constant> = {};
  for (let i = 0; i < layers; i++) {
    constants[`w${i}`] = weights([3, 3, channels, channels], seed + i);
    const name = i === layers - 1 ? 'y' : `y${i}`;
    nodes.push(node(name, 'Conv2D', [i === 0 ? 'x' : `y${i - 1}`, `w${i}`], SAME_CONVOLUTION));
  }
  return {
    name: `convolutions only ${size}×${size}, ${layers} layers`,
    load: () => graphModel(nodes, constants),
    inputs: (inputSeed) => ({ x: disorder([1, size, size, channels], inputSeed) }),
  };
}

/** Convolutions with bias and ReLU, pooling, the mean of the image, a dense layer and softmax. */
export function convNet({ batch = 1, size = 24, channels = 16, layers = 3, seed = 1 } = {}): Net {
  const nodes: NodeDef[] = [placeholder('x', [-1, size, size, 3])];
  const constants: Record<string, Constant> = {};
  for (let i = 0; i < layers; i++) {
    constants[`w${i}`] = weights([3, 3, i === 0 ? 3 : channels, channels], seed + i);
    constants[`b${i}`] = disorder([channels], seed + 50 + i);
    nodes.push(
      node(`convolution${i}`, 'Conv2D', [i === 0 ? 'x' : `y${i - 1}`, `w${i}`], SAME_CONVOLUTION),
      node(`sum${i}`, 'BiasAdd', [`convolution${i}`, `b${i}`], BIAS),
      node(`y${i}`, 'Relu', [`sum${i}`]),
    );
  }
  const window = { list: { i: [1, 2, 2, 1] } };
  const pool = {
    T: FLOAT,
    ksize: window,
    strides: window,
    padding: bytesAttr('VALID'),
    data_format: bytesAttr('NHWC'),
  };
  nodes.push(
    node('pooled', 'MaxPool', [`y${layers - 1}`], pool),
    node('mean', 'Mean', ['pooled', 'axes'], OVER_AXES),
    node('logits', 'MatMul', ['mean', 'w'], MATMUL),
    node('y', 'Softmax', ['logits']),
  );
  return {
    name: `convolutions ${batch}×${size}×${size}, ${layers} layers`,
    load: () =>
      graphModel(nodes, { ...constants, axes: ints([2], 1, 2), w: weights([channels, 10], seed + 99) }),
    inputs: (inputSeed) => ({ x: disorder([batch, size, size, 3], inputSeed) }),
  };
}

/** Two inputs, two outputs: tanh(a·W) + b, and that times b. */
export function twoByTwoNet({ rows = 8, width = 32, seed = 1 } = {}): Net {
  const nodes = [
    placeholder('a', [-1, width]),
    placeholder('b', [-1, width]),
    node('product', 'MatMul', ['a', 'w'], MATMUL),
    node('tanh', 'Tanh', ['product']),
    node('sum', 'AddV2', ['tanh', 'b']),
    node('scaled', 'Mul', ['sum', 'b']),
    node('y', 'Neg', ['sum']),
    node('z', 'Square', ['scaled']),
  ];
  return {
    name: `two inputs and outputs ${rows}×${width}`,
    load: () => graphModel(nodes, { w: weights([width, width], seed) }),
    inputs: (inputSeed) => ({
      a: disorder([rows, width], inputSeed),
      b: disorder([rows, width], inputSeed + 1000),
    }),
  };
}

/** (x·0.5 + 3)², exact, with much scratch memory. */
export function pixelNet({ size = 512, steps = 2 } = {}): Net {
  const nodes: NodeDef[] = [placeholder('x', [-1, size, size, 4])];
  for (let i = 0; i < steps; i++) {
    nodes.push(
      node(`half${i}`, 'Mul', [i === 0 ? 'x' : `y${i - 1}`, 'half']),
      node(`sum${i}`, 'AddV2', [`half${i}`, 'three']),
      node(`y${i}`, 'Square', [`sum${i}`]),
    );
  }
  return {
    name: `pixels ${size}×${size}`,
    load: () => graphModel(nodes, { half: floats([], 0.5), three: floats([], 3) }),
    inputs: (inputSeed) => ({ x: disorder([1, size, size, 4], inputSeed) }),
  };
}

/** What is cut, joined and looked up: a graph that moves values only, and tanh. */
export function partsNet({ rows = 3 } = {}): Net {
  const TYPES = { T: FLOAT };
  const nodes: NodeDef[] = [
    placeholder('x', [-1, 24]),
    node('quarters', 'Split', ['one', 'x'], { ...TYPES, num_split: { i: '4' } }),
    node('pieces', 'SplitV', ['quarters', 'sizes', 'one'], { ...TYPES, Tlen: INT, num_split: { i: '3' } }),
    node('stack', 'Pack', ['quarters:1', 'quarters:2', 'quarters:3'], {
      ...TYPES,
      N: { i: '3' },
      axis: { i: '1' },
    }),
    node('rows', 'Unpack', ['stack'], { ...TYPES, num: { i: '3' }, axis: { i: '1' } }),
    node('sizes_of_ids', 'Abs', ['pieces']),
    node('ids', 'Cast', ['sizes_of_ids'], { SrcT: FLOAT, DstT: INT, Truncate: { b: false } }),
    node('looked_up', 'GatherV2', ['table', 'ids', 'zero'], {
      Tparams: FLOAT,
      Tindices: INT,
      Taxis: INT,
      batch_dims: { i: '0' },
    }),
    node('found', 'Squeeze', ['looked_up'], { ...TYPES, squeeze_dims: { list: { i: ['1'] } } }),
    node(
      'all',
      'ConcatV2',
      [
        ...['quarters', 'quarters:1', 'quarters:2', 'quarters:3'],
        ...['pieces', 'pieces:1', 'pieces:2', 'rows', 'rows:1', 'rows:2', 'found', 'x', 'one'],
      ],
      { ...TYPES, N: { i: '12' }, Tidx: INT },
    ),
    node('y', 'Tanh', ['all']),
  ];
  const constants = {
    zero: ints([], 0),
    one: ints([], 1),
    sizes: ints([3], 1, 2, 3),
    table: disorder([5, 4], 17),
  };
  return {
    name: `parts ${rows}×24`,
    load: () => graphModel(nodes, constants),
    inputs: (inputSeed) => ({ x: disorder([rows, 24], inputSeed) }),
  };
}

const ones = (count: number) => ({ list: { i: Array<string>(count).fill('1') } });

/** A transposed convolution that doubles an image. */
export function upsamplingNet({ size = 12, seed = 1 } = {}): Net {
  const attributes = {
    ...SAME_CONVOLUTION,
    strides: { list: { i: ['1', '2', '2', '1'] } },
    dilations: ones(4),
  };
  const nodes = [
    placeholder('x', [1, size, size, 8]),
    node('large', 'Conv2DBackpropInput', ['sizes', 'w', 'x'], attributes),
    node('y', 'Relu', ['large']),
  ];
  const constants = { sizes: ints([4], 1, 2 * size, 2 * size, 4), w: weights([3, 3, 4, 8], seed) };
  return {
    name: `transposed convolution ${size}×${size}`,
    load: () => graphModel(nodes, constants),
    inputs: (inputSeed) => ({ x: disorder([1, size, size, 8], inputSeed) }),
  };
}

/** A convolution of volumes. */
export function volumeNet({ size = 6, seed = 1 } = {}): Net {
  const attributes = {
    T: FLOAT,
    strides: ones(5),
    dilations: ones(5),
    padding: bytesAttr('SAME'),
    data_format: bytesAttr('NDHWC'),
  };
  const nodes = [
    placeholder('x', [-1, size, size, size, 3]),
    node('convolution', 'Conv3D', ['x', 'w'], attributes),
    node('y', 'Relu', ['convolution']),
  ];
  return {
    name: `convolution ${size}×${size}×${size}`,
    load: () => graphModel(nodes, { w: weights([3, 3, 3, 3, 8], seed) }),
    inputs: (inputSeed) => ({ x: disorder([1, size, size, size, 3], inputSeed) }),
  };
}

/** A net's inputs as tensors. */
export function tensors(net: Net, seed: number): tf.NamedTensorMap {
  return Object.fromEntries(Object.entries(net.inputs(seed)).map(([name, value]) => [name, tensorOf(value)]));
}

/** The values of what a model returned, one list for all outputs; disposes of them. */
export async function take(result: unknown): Promise<Float32Array> {
  const outputs = [result as tf.Tensor | tf.Tensor[]].flat();
  const parts = (await Promise.all(outputs.map((output) => output.data()))) as Float32Array[];
  tf.dispose(outputs);
  const values = new Float32Array(parts.reduce((size, part) => size + part.length, 0));
  let from = 0;
  for (const part of parts) {
    values.set(part, from);
    from += part.length;
  }
  return values;
}

/** What the model gives for a seed's inputs. */
export async function predictSeed(model: tf.GraphModel, net: Net, seed: number): Promise<Float32Array> {
  const inputs = tensors(net, seed);
  const result = model.predict(inputs);
  tf.dispose(inputs);
  return take(result);
}
