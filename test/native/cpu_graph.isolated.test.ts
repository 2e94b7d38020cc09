import '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import { expect } from 'chai';
import { DT } from '#src/dtypes';
import { nativeRuntime } from '#src/native';
import { bytesAttr, type NodeDef } from '#src/program/graph_def';

/**
 * Graphs that crashed TensorFlow's oneDNN layout pass or its remapper, or got wrong numbers from them (native/pads.h). In a
 * process of its own: a relapse ends the process.
 */
describe('convolutions on the CPU', () => {
  before(() => tf.setBackend('cpu'));

  const x = tf.tidy(() => values([1, 6, 6, 2], 1));
  const filter = values([1, 1, 2, 4], 2);
  const wide = values([1, 1, 4, 4], 3);
  const narrow = values([1, 1, 2, 2], 4);
  const bias = values([4], 5);
  const channels: [number, number][] = [
    [0, 0],
    [0, 0],
    [0, 0],
    [0, 2],
  ];
  const image: [number, number][] = [
    [0, 0],
    [1, 2],
    [0, 1],
    [0, 0],
  ];
  const batch: [number, number][] = [
    [1, 0],
    [0, 0],
    [0, 0],
    [0, 0],
  ];
  const video = values([1, 3, 5, 5, 2], 6);
  const filter3d = values([3, 3, 3, 2, 2], 7);
  const around: [number, number][] = [
    [0, 0],
    [1, 1],
    [1, 1],
    [1, 1],
    [0, 0],
  ];

  for (const remapping of ['ON', 'OFF']) {
    describe(`remapper ${remapping}`, () => {
      const run = (output: string, nodes: NodeDef[], tensors: Record<string, tf.Tensor>) =>
        runGraph(output, nodes, tensors, remapping);

      it('a pad on the other side of an addition', () =>
        run(
          'y',
          [
            pad('p', 'x'),
            conv('c', 'x', 'w'),
            biasAdd('b', 'c', 'bias'),
            op('AddN', 'y', ['b', 'p'], { N: { i: 2 } }),
          ],
          {
            x,
            w: filter,
            bias,
            p_paddings: paddings(channels),
          },
        ).toEqual(() =>
          tf.add(
            tf.add(tf.conv2d(x as tf.Tensor4D, filter as tf.Tensor4D, 1, 'valid'), bias),
            tf.pad(x, channels),
          ),
        ));

      it('a filter that is padded at run time', () =>
        run('y', [pad('p', 'w'), conv('y', 'x', 'p')], {
          x,
          w: narrow,
          p_paddings: paddings(channels),
        }).toEqual(() => tf.conv2d(x as tf.Tensor4D, tf.pad(narrow, channels) as tf.Tensor4D, 1, 'valid')));

      it('a bias that is padded at run time', () =>
        run('y', [pad('p', 'half'), conv('c', 'x', 'w'), biasAdd('y', 'c', 'p')], {
          x,
          w: filter,
          half: tf.slice(bias, 0, 2),
          p_paddings: paddings([[0, 2]]),
        }).toEqual(() =>
          tf.add(
            tf.conv2d(x as tf.Tensor4D, filter as tf.Tensor4D, 1, 'valid'),
            tf.pad(tf.slice(bias, 0, 2), [[0, 2]]),
          ),
        ));

      it('a padded image, which may be merged', () =>
        run('y', [pad('p', 'x'), conv('c', 'p', 'k', [2, 2]), biasAdd('y', 'c', 'bias')], {
          x,
          k: values([3, 3, 2, 4], 11),
          bias,
          p_paddings: paddings(image),
        }).toEqual(() =>
          tf.add(
            tf.conv2d(tf.pad(x, image) as tf.Tensor4D, values([3, 3, 2, 4], 11) as tf.Tensor4D, 2, 'valid'),
            bias,
          ),
        ));

      it('padded channels', () =>
        run('y', [pad('p', 'x'), conv('y', 'p', 'w')], {
          x,
          w: wide,
          p_paddings: paddings(channels),
        }).toEqual(() => tf.conv2d(tf.pad(x, channels) as tf.Tensor4D, wide as tf.Tensor4D, 1, 'valid')));

      it('a padded batch', () =>
        run('y', [pad('p', 'x'), conv('y', 'p', 'w')], { x, w: filter, p_paddings: paddings(batch) }).toEqual(
          () => tf.conv2d(tf.pad(x, batch) as tf.Tensor4D, filter as tf.Tensor4D, 1, 'valid'),
        ));

      for (const [padding, shape, filter, steps] of [
        ['valid', [1, 1, 6, 3, 1], [1, 1, 2, 1, 1], [1, 1, 2]],
        ['same', [1, 1, 5, 2, 1], [1, 2, 3, 1, 2], [1, 1, 2]],
      ] as const) {
        it(`one column of a volume of one channel (${padding})`, () => {
          const [v, k] = [values([...shape], 9), values([...filter], 10)] as [tf.Tensor5D, tf.Tensor5D];
          run('y', [conv3d('y', 'v', 'k', [...steps], padding.toUpperCase())], { v, k }).toEqual(() =>
            tf.conv3d(v, k, [...steps], padding),
          );
        });
      }

      for (const [padding, shape, filter, steps] of [
        ['valid', [1, 6, 3, 1], [1, 2, 1, 1], [1, 2]],
        ['same', [2, 5, 3, 1], [3, 3, 1, 2], [1, 4]],
        ['valid', [1, 9, 9, 1], [3, 3, 1, 4], [2, 2]],
      ] as const) {
        it(`one column of an image of one channel (${padding}, ${shape})`, () => {
          const [v, k] = [values([...shape], 9), values([...filter], 10)] as [tf.Tensor4D, tf.Tensor4D];
          run('y', [conv('y', 'v', 'k', [...steps], padding.toUpperCase())], { v, k }).toEqual(() =>
            tf.conv2d(v, k, [...steps], padding),
          );
        });
      }

      it('a pad before a three-dimensional convolution', () =>
        run('y', [pad('p', 'v'), conv3d('y', 'p', 'w')], {
          v: video,
          w: filter3d,
          p_paddings: paddings(around),
        }).toEqual(() =>
          tf.conv3d(tf.pad(video, around) as tf.Tensor5D, filter3d as tf.Tensor5D, 1, 'same'),
        ));
    });
  }
});

function values(shape: number[], seed: number): tf.Tensor {
  return tf.randomUniform(shape, -1, 1, 'float32', seed);
}

function paddings(pairs: [number, number][]): tf.Tensor {
  return tf.tensor2d(pairs, undefined, 'int32');
}

const FLOAT = { T: { type: 'DT_FLOAT' } };

function op(name: string, node: string, input: string[], attr: NodeDef['attr'] = {}): NodeDef {
  return { name: node, op: name, input, attr: { ...FLOAT, ...attr } };
}
const pad = (name: string, input: string) =>
  op('Pad', name, [input, `${name}_paddings`], { Tpaddings: { type: 'DT_INT32' } });
const conv = (name: string, input: string, filter: string, steps = [1, 1], padding = 'VALID') =>
  op('Conv2D', name, [input, filter], {
    strides: { list: { i: [1, ...steps, 1] } },
    padding: bytesAttr(padding),
  });
const conv3d = (name: string, input: string, filter: string, steps = [1, 1, 1], padding = 'SAME') =>
  op('Conv3D', name, [input, filter], {
    strides: { list: { i: [1, ...steps, 1] } },
    padding: bytesAttr(padding),
  });
const biasAdd = (name: string, input: string, bias: string) => op('BiasAdd', name, [input, bias]);

/**
 * Runs the nodes on the addon. Integers and `k` are constants; other tensors are fed, with shapes that grappler knows: it takes feeds for
 * tensors of any shape, and then leaves alone what this is about.
 */
function runGraph(output: string, nodes: NodeDef[], tensors: Record<string, tf.Tensor>, remapping: string) {
  const { addon, commands } = nativeRuntime();
  const weights: [string, number, number[], Int32Array | Float32Array][] = [];
  const feeds: string[] = [];
  const inputs: number[] = [];
  const all = [...nodes];
  const constant = (name: string, tensor: tf.Tensor) => {
    const [number, type] =
      tensor.dtype === 'int32' ? ([DT.INT32, 'DT_INT32'] as const) : ([DT.FLOAT, 'DT_FLOAT'] as const);
    weights.push([name, number, tensor.shape, tensor.dataSync() as Int32Array | Float32Array]);
    all.push({ name, op: 'Const', attr: { dtype: { type }, value: { tensor: { dtype: type } } } });
  };
  for (const [name, tensor] of Object.entries(tensors)) {
    if (tensor.dtype === 'int32' || name === 'k') {
      constant(name, tensor);
      continue;
    }
    constant(`${name}_shape`, tf.tensor1d(tensor.shape, 'int32'));
    all.push(
      { name: `${name}_fed`, op: 'Placeholder', attr: { dtype: { type: 'DT_FLOAT' } } },
      op('Reshape', name, [`${name}_fed`, `${name}_shape`], { Tshape: { type: 'DT_INT32' } }),
    );
    feeds.push(`${name}_fed:0`);
    commands.set(tensor.shape);
    inputs.push(addon.createTensor(DT.FLOAT, tensor.rank, tensor.dataSync() as Float32Array));
  }
  const config = { deviceCount: { GPU: 0 }, graphOptions: { rewriteOptions: { remapping } } };
  const columns = <K extends 0 | 1 | 2 | 3>(k: K) => weights.map((weight) => weight[k]);
  const graph = JSON.stringify({ node: all, versions: { producer: 1900 } });
  const program = addon.createProgram(
    false,
    graph,
    JSON.stringify(config),
    columns(0),
    columns(1),
    columns(2),
    columns(3),
  );
  const callable = addon.createCallable(
    false,
    program,
    JSON.stringify({ feed: feeds, fetch: [`${output}:0`] }),
  );
  commands.set(inputs);
  addon.runCallable(callable, inputs.length);
  const [handle, , rank, ...dims] = Array.from(commands.subarray(0, 10)) as [
    number,
    number,
    number,
    ...number[],
  ];
  const shape = dims.slice(0, rank);
  const result = new Float32Array(tf.util.sizeFromShape(shape));
  addon.readTensor(handle, result);
  for (const tensor of [handle, ...inputs]) addon.releaseTensor(tensor);
  addon.releaseCallable(callable);
  addon.releaseProgram(program);
  return {
    toEqual(reference: () => tf.Tensor): void {
      tf.tidy(() => {
        const wanted = reference();
        expect(shape).to.deep.equal(wanted.shape);
        const errors = wanted.dataSync().map((value, i) => Math.abs(value - result[i]!));
        expect(Math.max(...errors)).to.be.below(1e-5);
      });
    },
  };
}
