import path from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import { bytesAttr, type NodeDef } from '#src/program/graph_def';
import { readFixture } from '../support/fixtures';
import { errorOf, onTftrt } from '../support/tftrt';

/**
 * Operands and attributes that TensorFlow's oneDNN kernels and passes do not check: each ended the process, or gave memory that
 * nobody had written. In a process of its own: a relapse ends it.
 */
describe('graphs with operands that do not fit', () => {
  onTftrt();

  const ints = (...values: number[]) => ({ list: { i: values } });
  const T = { type: 'DT_FLOAT' };
  const placeholder = (name: string): NodeDef => ({
    name,
    op: 'Placeholder',
    attr: { dtype: T, shape: { shape: { unknownRank: true } } },
  });
  const window = {
    T,
    strides: ints(1, 1, 1, 1),
    padding: bytesAttr('VALID'),
    data_format: bytesAttr('NHWC'),
  };

  async function run(node: NodeDef, inputs: tf.NamedTensorMap): Promise<tf.Tensor> {
    const modelTopology = {
      node: [...Object.keys(inputs).map(placeholder), node],
      versions: { producer: 1900 },
    };
    const model = await tf.loadGraphModel(
      tf.io.fromMemory({ modelTopology, weightSpecs: [], weightData: new ArrayBuffer(0) }),
    );
    try {
      return model.execute(inputs, node.name) as tf.Tensor;
    } finally {
      model.dispose();
    }
  }

  const conv = (attr: NodeDef['attr'] = {}): NodeDef => ({
    name: 'y',
    op: 'Conv2D',
    input: ['x', 'w'],
    attr: { ...window, ...attr },
  });
  const pool = (attr: NodeDef['attr'] = {}): NodeDef => ({
    name: 'y',
    op: 'MaxPool',
    input: ['x'],
    attr: { ...window, ksize: ints(1, 5, 5, 1), ...attr },
  });
  const fused = (...ops: string[]): NodeDef => ({
    name: 'y',
    op: '_FusedConv2D',
    input: ['x', 'w', 'b'],
    attr: { ...window, num_args: { i: 1 }, fused_ops: { list: { s: ops.map((op) => bytesAttr(op).s!) } } },
  });
  const x = () => tf.ones([1, 4, 4, 2]);
  const w = () => tf.ones([2, 2, 2, 2]);

  const cases: Array<[string, NodeDef, () => tf.NamedTensorMap, RegExp]> = [
    ['an image without a batch', conv(), () => ({ x: tf.ones([4, 4, 2]), w: w() }), /y\/tftrt_ranked_image/],
    [
      'a filter of three dimensions',
      conv(),
      () => ({ x: x(), w: tf.ones([2, 2, 2]) }),
      /y\/tftrt_ranked_filter/,
    ],
    [
      'a bias of two dimensions',
      fused('BiasAdd', 'Relu'),
      () => ({ x: x(), w: w(), b: tf.ones([2, 2]) }),
      /ranked_bias/,
    ],
    [
      'a bias of two dimensions, not fused',
      fused('BiasAdd', 'Sigmoid'),
      () => ({ x: x(), w: w(), b: tf.ones([2, 2]) }),
      /ranked_bias/,
    ],
    ['a window larger than the image', pool(), () => ({ x: x() }), /window is larger than the image/],
    ['an unknown padding', pool({ padding: bytesAttr('FOO') }), () => ({ x: x() }), /padding.*FOO/],
    ['steps of the wrong number', pool({ strides: ints() }), () => ({ x: x() }), /strides/],
    [
      'steps of 2^31',
      conv({ strides: ints(1, 2 ** 31, 1, 1) }),
      () => ({ x: x(), w: w() }),
      /strides.*int32/,
    ],
    [
      'gaps of 2^31',
      conv({ dilations: ints(1, 1, 2 ** 31, 1) }),
      () => ({ x: x(), w: w() }),
      /dilations.*int32/,
    ],
    ['steps of 0', conv({ strides: ints(1, 0, 1, 1) }), () => ({ x: x(), w: w() }), /strides/],
  ];
  for (const [title, node, inputs, message] of cases) {
    it(title, async () => {
      const error = await errorOf(() => run(node, inputs()));
      expect(error.code).to.equal('TFTRT_INVALID_ARGUMENT');
      expect(error.message).to.match(message);
    });
  }

  it('a loop of no iterations at a time', async () => {
    const file = path.join(readFixture('graph_models', 'tensor_array').folder, 'model.json');
    const artifacts = await tf.io.getLoadHandlers(`file://${file}`)[0]!.load!();
    const { node } = artifacts.modelTopology as { node: NodeDef[] };
    const enter = node.find(({ op }) => op === 'Enter')!;
    for (const number of ['0', '-1']) {
      enter.attr!.parallel_iterations = { i: number };
      const model = await tf.loadGraphModel(tf.io.fromMemory(artifacts));
      const error = await errorOf(() => model.predict(tf.ones([3])));
      expect(error.code).to.equal('TFTRT_INVALID_ARGUMENT');
      expect(error.message).to.include(`'parallel_iterations' of node '${enter.name}'`);
      model.dispose();
    }
  });

  it('and one that does', async () => {
    const y = await run(fused('BiasAdd', 'Relu'), { x: x(), w: w(), b: tf.ones([2]) });
    expect(y.shape).to.deep.equal([1, 3, 3, 2]);
    expect(y.dataSync().every((value) => value === 9)).to.equal(true);
  });
});
