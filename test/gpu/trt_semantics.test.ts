import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import { type AttrValue, bytesAttr, type NodeDef } from '#src/program/graph_def';
import { onTftrt } from '../support/tftrt';
import { build, byEngines, expectEngine } from './api';
import { type Constant, FLOAT, floats, graphModel, INT, ints, node, placeholder } from './graphs';
import { predict, relativeError } from './outcome';

interface Case {
  readonly what: string;
  readonly op: string;
  readonly attr: Record<string, AttrValue>;
  readonly x: Constant;
  /** Constant operands after x. */
  readonly operands?: Constant[];
  readonly expected: number[];
  /** TF-TRT takes the op and does not look at this attribute: an engine that errs must not serve. */
  readonly ignored?: string;
}

const list = (...values: number[]): AttrValue => ({ list: { i: values } });
const NHWC = { T: FLOAT, data_format: bytesAttr('NHWC') };
const POOL = { ...NHWC, ksize: list(1, 2, 2, 1), strides: list(1, 2, 2, 1), padding: bytesAttr('SAME') };
const RESIZE = { T: FLOAT };
const ODD_IMAGE = floats([1, 3, 3, 1], 1, 2, 3, 4, 5, 6, 7, 8, 9);
const FOUR = floats([1, 2, 2, 1], 0, 4, 8, 12);
const DIVIDENDS = floats([4], -7, 7, -7, 7);
const DIVISORS = floats([4], 2, -2, -2, 2);

/** Ops whose TensorRT layers have rules of their own: padding, rounding, sampling. Answers by hand, from TensorFlow's rules. */
const CASES: readonly Case[] = [
  {
    what: 'the mean of a window that sticks out counts only what is inside',
    op: 'AvgPool',
    attr: POOL,
    x: ODD_IMAGE,
    expected: [3, 4.5, 7.5, 9],
  },
  {
    what: 'the largest of a window that sticks out, all negative',
    op: 'MaxPool',
    attr: POOL,
    x: floats([1, 3, 3, 1], -1, -2, -3, -4, -5, -6, -7, -8, -9),
    expected: [-1, -3, -7, -9],
  },
  {
    what: 'a strided convolution pads more at the end',
    op: 'Conv2D',
    attr: { ...NHWC, strides: list(1, 2, 2, 1), padding: bytesAttr('SAME') },
    x: floats([1, 4, 4, 1], 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16),
    operands: [floats([3, 3, 1, 1], 1, 1, 1, 1, 1, 1, 1, 1, 1)],
    expected: [54, 45, 72, 54],
  },
  {
    what: 'explicit padding',
    op: 'Conv2D',
    attr: {
      ...NHWC,
      strides: list(1, 2, 2, 1),
      padding: bytesAttr('EXPLICIT'),
      explicit_paddings: list(0, 0, 1, 1, 1, 1, 0, 0),
    },
    x: floats([1, 3, 3, 1], 1, 1, 1, 1, 1, 1, 1, 1, 1),
    operands: [floats([3, 3, 1, 1], 1, 1, 1, 1, 1, 1, 1, 1, 1)],
    expected: [4, 4, 4, 4],
  },
  ...[
    { what: 'corners as origin', flags: {}, expected: [0, 8 / 3, 4, 16 / 3, 8, 28 / 3, 8, 32 / 3, 12] },
    {
      what: 'centres of pixels',
      flags: { half_pixel_centers: { b: true } },
      expected: [0, 2, 4, 4, 6, 8, 8, 10, 12],
    },
    {
      what: 'aligned corners',
      flags: { align_corners: { b: true } },
      expected: [0, 2, 4, 4, 6, 8, 8, 10, 12],
    },
  ].map(({ what, flags, expected }) => ({
    what: `bilinear resizing, ${what}`,
    op: 'ResizeBilinear',
    attr: { ...RESIZE, ...flags },
    x: FOUR,
    operands: [ints([2], 3, 3)],
    expected,
  })),
  {
    what: 'resizing by the nearest pixel, corners as origin',
    op: 'ResizeNearestNeighbor',
    attr: RESIZE,
    x: FOUR,
    operands: [ints([2], 3, 3)],
    expected: [0, 0, 4, 0, 0, 4, 8, 8, 12],
  },
  {
    what: 'resizing by the nearest pixel, centres of pixels',
    op: 'ResizeNearestNeighbor',
    attr: { ...RESIZE, half_pixel_centers: { b: true } },
    x: ODD_IMAGE,
    operands: [ints([2], 2, 2)],
    expected: [1, 3, 7, 9],
    ignored: 'half_pixel_centers',
  },
  {
    what: 'division that rounds down',
    op: 'FloorDiv',
    attr: { T: FLOAT },
    x: DIVIDENDS,
    operands: [DIVISORS],
    expected: [-4, -4, 3, 3],
  },
  {
    what: 'rounding of halves to even',
    op: 'Round',
    attr: { T: FLOAT },
    x: floats([6], -2.5, -1.5, -0.5, 0.5, 1.5, 2.5),
    expected: [-2, -2, 0, 0, 2, 2],
  },
  {
    what: 'softmax of large numbers',
    op: 'Softmax',
    attr: { T: FLOAT },
    x: floats([1, 3], 1000, 1000, -1000),
    expected: [0.5, 0.5, 0],
  },
  {
    what: 'a slice with a negative step',
    op: 'StridedSlice',
    attr: {
      T: FLOAT,
      Index: INT,
      begin_mask: { i: 3 },
      end_mask: { i: 3 },
      ellipsis_mask: { i: 0 },
      new_axis_mask: { i: 0 },
      shrink_axis_mask: { i: 0 },
    },
    x: floats([2, 3], 1, 2, 3, 4, 5, 6),
    operands: [ints([2], 0, 0), ints([2], 0, 0), ints([2], 1, -1)],
    expected: [3, 2, 1, 6, 5, 4],
  },
  {
    what: 'a gather of rows, one twice',
    op: 'GatherV2',
    attr: { Tparams: FLOAT, Tindices: INT, Taxis: INT },
    x: floats([3, 2], 1, 2, 3, 4, 5, 6),
    operands: [ints([3], 2, 0, 2), ints([], 0)],
    expected: [5, 6, 1, 2, 5, 6],
  },
];

describe("TensorRT: TensorFlow's rules", function () {
  this.timeout(300_000);
  onTftrt();

  for (const { what, op, attr, x, operands = [], expected, ignored } of CASES) {
    it(`${op}: ${what}`, async () => {
      const names = operands.map((_, i) => `operand${i}`);
      // y = 3 − 2·(op(2·x) + 1): enough nodes behind the op for an engine, also where the op itself stays in TensorFlow.
      const nodes: NodeDef[] = [
        placeholder('x', x.shape),
        node('doubled', 'Mul', ['x', 'two']),
        node('op', op, ['doubled', ...names], attr),
        node('sum', 'AddV2', ['op', 'one']),
        node('product', 'Mul', ['sum', 'two']),
        node('y', 'Sub', ['three', 'product']),
      ];
      const constants = Object.fromEntries(operands.map((operand, i) => [names[i]!, operand]));
      const numbers = { one: floats([], 1), two: floats([], 2), three: floats([], 3) };
      const model = await graphModel(nodes, { ...constants, ...numbers });
      const wanted = expected.map((value) => 1 - 2 * value);
      const input = () =>
        tf.tensor(
          Array.from(x.values, (value) => value / 2),
          x.shape,
        );
      const error = relativeError((await predict(model, input())).values, wanted);
      expect(error, 'TensorFlow').to.be.at.most(1e-5);

      const sample = input();
      const report = await build(model, { inputs: [sample] });
      sample.dispose();
      const run = () => predict(model, input());
      if (ignored !== undefined && report.serving === 'tensorflow') {
        expect(report.reason).to.include("differ from TensorFlow's");
        expect(relativeError((await run()).values, wanted)).to.be.at.most(1e-5);
      } else {
        expectEngine(report);
        const inEngine = report.engines.some(({ ops }) => (ops[op] ?? 0) > 0);
        const native = report.native.find((entry) => entry.op === op);
        if (!inEngine)
          expect(native?.reason, `why ${op} stays in TensorFlow`).to.be.a('string').that.is.not.empty;
        const { values } = await byEngines(run);
        expect(relativeError(values, wanted), `${values}`).to.be.at.most(1e-5);
      }
      model.dispose();
    });
  }

  it('int32 is exact, and wraps', async () => {
    const T = { T: INT };
    const model = await graphModel(
      [
        placeholder('x', [4], INT),
        node('sum', 'AddV2', ['x', 'zero'], T),
        node('product', 'Mul', ['sum', 'factor'], T),
        node('difference', 'Sub', ['product', 'x'], T),
        node('y', 'Maximum', ['difference', 'least'], T),
      ],
      { zero: ints([4], 0, 0, 0, 1), factor: ints([4], 1, 2, 65_537, 1), least: ints([], -2_147_483_648) },
    );
    const input = () => tf.tensor1d([16_777_217, 16_777_217, 65_537, 2_147_483_647], 'int32');
    // 65537·65537 and 2147483647 + 1 are beyond int32.
    const wanted = [0, 16_777_217, 131_073 - 65_537, 1];
    expect((await predict(model, input())).values, 'TensorFlow').to.deep.equal(wanted);
    for (const precision of ['FP32', 'FP16'] as const) {
      const report = await build(model, { precision, inputs: [input()] });
      // TF-TRT may leave int32 to TensorFlow; engines that are wrong may not serve.
      if (report.serving === 'tensorflow') expect(report.reason).to.match(/no part of the graph|differ/);
      expect((await predict(model, input())).values, `served by ${report.serving}`).to.deep.equal(wanted);
    }
    model.dispose();
  });
});
