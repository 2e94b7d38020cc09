import * as tf from '@tensorflow/tfjs';
import { type AttrValue, bytesAttr, type NodeDef } from '#src/program/graph_def';

export const FLOAT: AttrValue = { type: 'DT_FLOAT' };
export const INT: AttrValue = { type: 'DT_INT32' };
export const STRING: AttrValue = { type: 'DT_STRING' };

/** A node; `T` is float32 unless the attributes say otherwise. */
export function node(
  name: string,
  op: string,
  input: string[],
  attr: Record<string, AttrValue> = { T: FLOAT },
): NodeDef {
  return { name, op, input, attr };
}

/** An input; −1 is any size. */
export function placeholder(name: string, shape: readonly number[], dtype = FLOAT): NodeDef {
  const dim = shape.map((size) => ({ size: String(size) }));
  return { name, op: 'Placeholder', attr: { dtype, shape: { shape: { dim } } } };
}

/** A weight of a model: values and shape. Int32Array makes it int32. */
export interface Constant {
  readonly shape: number[];
  readonly values: Float32Array | Int32Array;
}

export function floats(shape: number[], ...values: number[]): Constant {
  return { shape, values: Float32Array.from(values) };
}

export function ints(shape: number[], ...values: number[]): Constant {
  return { shape, values: Int32Array.from(values) };
}

/** Whole and half numbers from −2 to 2, in a fixed disorder: their products and short sums are exact in float32. */
export function disorder(shape: number[], seed = 1): Constant {
  const size = shape.reduce((product, dim) => product * dim, 1);
  let state = seed;
  const values = Float32Array.from({ length: size }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return (state % 9) / 2 - 2;
  });
  return { shape, values };
}

/** A graph model in memory of these nodes and constants. */
export function graphModel(
  nodes: NodeDef[],
  constants: Record<string, Constant> = {},
  library?: { function: unknown[] },
): Promise<tf.GraphModel> {
  const weights = Object.entries(constants);
  const bytes = weights.map(
    ([, { values }]) => new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
  );
  const isInt = (values: Constant['values']) => values instanceof Int32Array;
  return tf.loadGraphModel(
    tf.io.fromMemory({
      modelTopology: {
        node: [
          ...weights.map(([name, { values }]) =>
            node(name, 'Const', [], { dtype: isInt(values) ? INT : FLOAT }),
          ),
          ...nodes,
        ],
        library,
        versions: { producer: 1900 },
      },
      weightSpecs: weights.map(([name, { shape, values }]) => ({
        name,
        shape,
        dtype: isInt(values) ? 'int32' : 'float32',
      })),
      weightData: Uint8Array.from(Buffer.concat(bytes)).buffer,
    }),
  );
}

/** Attributes of a convolution that keeps the size. */
export const SAME_CONVOLUTION: Record<string, AttrValue> = {
  T: FLOAT,
  strides: { list: { i: [1, 1, 1, 1] } },
  padding: bytesAttr('SAME'),
  data_format: bytesAttr('NHWC'),
};

/** y = relu(x·W + b)·2 of the constants w, b and two: a segment that TF-TRT converts. */
export function denseNodes(x: string): NodeDef[] {
  return [
    node('product', 'MatMul', [x, 'w'], {
      T: FLOAT,
      transpose_a: { b: false },
      transpose_b: { b: false },
    }),
    node('sum', 'BiasAdd', ['product', 'b'], { T: FLOAT, data_format: bytesAttr('NHWC') }),
    node('relu', 'Relu', ['sum']),
    node('y', 'Mul', ['relu', 'two']),
  ];
}

/** y = relu(x·W + b)·2 for rows x of `inputs` numbers: a segment that TF-TRT converts. Returns the model and its arithmetic. */
export async function denseModel({ inputs = 8, outputs = 4, seed = 1, batch = -1 } = {}) {
  const weights = disorder([inputs, outputs], seed);
  const bias = disorder([outputs], seed + 1);
  const model = await graphModel([placeholder('x', [batch, inputs]), ...denseNodes('x')], {
    w: weights,
    b: bias,
    two: floats([], 2),
  });
  const expected = (x: ArrayLike<number>): number[] => {
    const rows = x.length / inputs;
    return Array.from({ length: rows * outputs }, (_, index) => {
      const [row, column] = [Math.floor(index / outputs), index % outputs];
      let sum = bias.values[column]!;
      for (let i = 0; i < inputs; i++) sum += x[row * inputs + i]! * weights.values[i * outputs + column]!;
      return 2 * Math.max(0, sum);
    });
  };
  return { model, expected };
}

/** A row of convolutions of different sizes, on [1, 24, 24, 8]: each is timed anew, so that building takes seconds. */
export async function convolutions(): Promise<tf.GraphModel> {
  const constants: Record<string, Constant> = {};
  const nodes: NodeDef[] = [placeholder('x', [1, 24, 24, 8])];
  let last = 'x';
  let channels = 8;
  for (const [layer, filters] of [16, 24, 32, 40, 48, 56, 64, 72].entries()) {
    const { shape, values } = disorder([3, 3, channels, filters], layer + 1);
    constants[`w${layer}`] = {
      shape,
      values: Float32Array.from(values, (v) => v / Math.sqrt(9 * channels)),
    };
    constants[`b${layer}`] = disorder([filters], layer + 50);
    nodes.push(
      node(`conv${layer}`, 'Conv2D', [last, `w${layer}`], SAME_CONVOLUTION),
      node(`sum${layer}`, 'BiasAdd', [`conv${layer}`, `b${layer}`], {
        T: FLOAT,
        data_format: bytesAttr('NHWC'),
      }),
      node(`relu${layer}`, 'Relu', [`sum${layer}`]),
    );
    last = `relu${layer}`;
    channels = filters;
  }
  return graphModel(nodes, constants);
}

/** A tensor of a constant's values. */
export function tensorOf({ shape, values }: Constant): tf.Tensor {
  return tf.tensor(values, shape, values instanceof Int32Array ? 'int32' : 'float32');
}
