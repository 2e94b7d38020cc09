import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { type AttrValue, bytesAttr, type NodeDef } from '#src/program/graph_def';
import { expectBack, live, onTftrt } from '../support/tftrt';
import { makeOnceOnly, reasonNotToCapture } from './capture';
import { type Constant, FLOAT, floats, graphModel, INT, ints, node, placeholder, STRING } from './graphs';

const BOOL: AttrValue = { type: 'DT_BOOL' };
const RUNS = 30;

interface Refused {
  readonly why: string;
  /** What the reason names, where it is clear which of several comes first. */
  readonly reason?: RegExp;
  readonly nodes: NodeDef[];
  readonly constants?: Record<string, Constant>;
  readonly library?: { function: unknown[] };
  readonly inputs: () => tf.NamedTensorMap;
  /** Values of the outputs; or what must hold of them. */
  readonly expected: number[][] | ((outputs: number[][]) => void);
}

const line = (...values: number[]) => ({ x: tf.tensor1d(values) });

/** y = x + 1 in a function, for control flow. */
function plusFunction(name: string, addend: string, attr: Record<string, AttrValue> = {}): unknown {
  return {
    attr,
    signature: {
      name,
      inputArg: [{ name: 'x', type: 'DT_FLOAT' }],
      outputArg: [{ name: 'y', type: 'DT_FLOAT' }],
    },
    nodeDef: [
      node('addend', 'Const', [], {
        dtype: FLOAT,
        value: { tensor: { dtype: 'DT_FLOAT', tensorShape: {}, floatVal: [Number(addend)] } },
      }),
      node('sum', 'AddV2', ['x', 'addend:output:0']),
    ],
    ret: { y: 'sum:z:0' },
  };
}

const CASES: Refused[] = [
  {
    why: 'its output has a size that depends on values (Where)',
    nodes: [placeholder('x', [-1]), node('y', 'Where', ['above'], { T: BOOL }), aboveZero()],
    constants: { zero: floats([], 0) },
    inputs: () => line(1, -1, 2, 0),
    expected: [[0, 2]],
  },
  {
    why: 'NonMaxSuppression',
    nodes: [
      placeholder('boxes', [-1, 4]),
      placeholder('scores', [-1]),
      node('y', 'NonMaxSuppressionV3', ['boxes', 'scores', 'most', 'overlap', 'score'], {
        T: FLOAT,
        T_threshold: FLOAT,
      }),
    ],
    constants: { most: ints([], 5), overlap: floats([], 0.5), score: floats([], 0.1) },
    inputs: () => ({
      boxes: tf.tensor2d([0, 0, 1, 1, 0, 0, 1, 0.9, 2, 2, 3, 3], [3, 4]),
      scores: tf.tensor1d([0.9, 0.8, 0.7]),
    }),
    expected: [[0, 2]],
  },
  {
    why: 'a branch (StatelessIf)',
    reason: /If|Switch|Merge|CPU|StatelessIf/,
    nodes: [
      placeholder('x', [-1]),
      node('sum', 'Sum', ['x', 'axis'], { T: FLOAT, Tidx: INT, keep_dims: { b: false } }),
      node('above', 'Greater', ['sum', 'zero']),
      node('y', 'StatelessIf', ['above', 'x'], {
        Tcond: BOOL,
        Tin: { list: { type: ['DT_FLOAT'] } },
        Tout: { list: { type: ['DT_FLOAT'] } },
        then_branch: { func: { name: 'plus_one' } },
        else_branch: { func: { name: 'plus_ten' } },
      }),
    ],
    constants: { zero: floats([], 0), axis: ints([1], 0) },
    library: { function: [plusFunction('plus_one', '1'), plusFunction('plus_ten', '10')] },
    inputs: () => line(-3, 1),
    expected: [[7, 11]],
  },
  {
    why: 'a function that is not inlined, behind a value from the GPU',
    reason: /PartitionedCall/,
    nodes: [
      placeholder('x', [-1]),
      aboveZero(),
      node('where', 'Where', ['above'], { T: BOOL }),
      node('positive', 'GatherNd', ['x', 'where'], { Tparams: FLOAT, Tindices: { type: 'DT_INT64' } }),
      node('y', 'PartitionedCall', ['positive'], {
        Tin: { list: { type: ['DT_FLOAT'] } },
        Tout: { list: { type: ['DT_FLOAT'] } },
        f: { func: { name: 'plus_one' } },
      }),
    ],
    constants: { zero: floats([], 0) },
    library: { function: [plusFunction('plus_one', '1', { _noinline: { b: true } })] },
    inputs: () => line(-3, 1, 2),
    expected: [[2, 3]],
  },
  {
    why: 'an int32 input',
    reason: /float32/,
    nodes: [
      placeholder('x', [-1], INT),
      node('float', 'Cast', ['x'], { SrcT: INT, DstT: FLOAT, Truncate: { b: false } }),
      node('y', 'Sqrt', ['float']),
    ],
    inputs: () => ({ x: tf.tensor1d([4, 9, 16], 'int32') }),
    expected: [[2, 3, 4]],
  },
  {
    why: 'an int32 output (ArgMax)',
    nodes: [
      placeholder('x', [-1]),
      node('y', 'ArgMax', ['x', 'axis'], { T: FLOAT, Tidx: INT, output_type: INT }),
    ],
    constants: { axis: ints([], 0) },
    inputs: () => line(1, 5, 3),
    expected: [[1]],
  },
  {
    why: 'a split into nine parts',
    reason: /joins or splits 9 tensors/,
    nodes: [
      placeholder('x', [-1]),
      node('parts', 'Split', ['axis', 'x'], { T: FLOAT, num_split: { i: '9' } }),
      node('y', 'ConcatV2', [...[8, 7, 6, 5, 4, 3, 2, 1].map((i) => `parts:${i}`), 'parts', 'axis'], {
        T: FLOAT,
        N: { i: '9' },
        Tidx: INT,
      }),
    ],
    constants: { axis: ints([], 0) },
    inputs: () => line(1, 2, 3, 4, 5, 6, 7, 8, 9),
    expected: [[9, 8, 7, 6, 5, 4, 3, 2, 1]],
  },
  {
    why: 'sixteen joined parts',
    reason: /joins or splits 16 tensors/,
    nodes: [
      placeholder('x', [-1]),
      node('y', 'ConcatV2', [...Array<string>(16).fill('x'), 'axis'], {
        T: FLOAT,
        N: { i: '16' },
        Tidx: INT,
      }),
    ],
    constants: { axis: ints([], 0) },
    inputs: () => line(1, 2),
    expected: [Array.from({ length: 32 }, (_, i) => 1 + (i % 2))],
  },
  {
    why: 'strings',
    nodes: [placeholder('x', [-1], STRING), node('y', 'StringToNumber', ['x'], { out_type: FLOAT })],
    inputs: () => ({ x: tf.tensor1d(['1.5', '-2']) }),
    expected: [[1.5, -2]],
  },
  {
    why: 'random numbers',
    reason: /Random/,
    nodes: [
      placeholder('x', [4]),
      node('random', 'RandomUniform', ['shape'], {
        T: INT,
        dtype: FLOAT,
        seed: { i: '0' },
        seed2: { i: '0' },
      }),
      node('y', 'AddV2', ['x', 'random']),
    ],
    constants: { shape: ints([1], 4) },
    inputs: () => line(10, 20, 30, 40),
    expected: ([y]) => {
      const rest = y!.map((value, i) => value - 10 * (i + 1));
      expect(rest.every((value) => value >= 0 && value < 1)).to.equal(true);
      expect(new Set(rest).size, 'different numbers').to.be.above(1);
    },
  },
  {
    why: 'a concatenation of more than 8',
    reason: /ConcatV2/,
    nodes: [
      placeholder('x', [-1]),
      ...Array.from({ length: 12 }, (_, i) => node(`part${i}`, 'Mul', ['x', `factor${i}`])),
      node('y', 'ConcatV2', [...Array.from({ length: 12 }, (_, i) => `part${i}`), 'axis'], {
        T: FLOAT,
        N: { i: '12' },
        Tidx: INT,
      }),
    ],
    constants: {
      axis: ints([], 0),
      ...Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`factor${i}`, floats([], i)])),
    },
    inputs: () => line(1, 2),
    expected: [Array.from({ length: 24 }, (_, i) => Math.floor(i / 2) * (1 + (i % 2)))],
  },
  {
    why: 'BatchMatMul',
    reason: /BatchMatMul/,
    nodes: [
      placeholder('x', [-1, 2, 2]),
      node('y', 'BatchMatMulV2', ['x', 'x'], { T: FLOAT, adj_x: { b: false }, adj_y: { b: false } }),
    ],
    inputs: () => ({ x: tf.tensor3d([1, 2, 3, 4, 1, 0, 0, 1], [2, 2, 2]) }),
    expected: [[7, 10, 15, 22, 1, 0, 0, 1]],
  },
  {
    why: 'Gather, whose constant indices come from the host',
    reason: /Gather|_HostSend|_Recv/,
    nodes: [
      placeholder('x', [-1]),
      node('y', 'GatherV2', ['x', 'indices', 'axis'], {
        Tparams: FLOAT,
        Tindices: INT,
        Taxis: INT,
        batch_dims: { i: '0' },
      }),
    ],
    constants: { indices: ints([3], 2, 0, 2), axis: ints([], 0) },
    inputs: () => line(5, 6, 7),
    expected: [[7, 5, 7]],
  },
  {
    why: 'ops of the host in between',
    nodes: [
      placeholder('x', [-1]),
      node('text', 'AsString', ['x'], {
        T: FLOAT,
        precision: { i: '-1' },
        scientific: { b: false },
        shortest: { b: true },
        width: { i: '-1' },
        fill: bytesAttr(''),
      }),
      node('y', 'StringToNumber', ['text'], { out_type: FLOAT }),
    ],
    inputs: () => line(1.5, -2.25),
    expected: [[1.5, -2.25]],
  },
];

function aboveZero(): NodeDef {
  return node('above', 'Greater', ['x', 'zero']);
}

describe('graphs that cannot be CUDA graphs', function () {
  this.timeout(120_000);
  onTftrt();

  before(makeOnceOnly);

  for (const { why, reason = /\w/, nodes, constants, library, inputs, expected } of CASES) {
    it(`serve as before: ${why}`, async () => {
      const before_ = live();
      const { capturedGraphs, graphArenaBytesInUse } = tftrt.stats();
      const model = await graphModel(nodes, constants, library);
      const check = async () => {
        const fed = inputs();
        const outputs = [(await model.executeAsync(fed)) as tf.Tensor | tf.Tensor[]].flat();
        const values = await Promise.all(outputs.map(async (output) => Array.from(await output.data())));
        tf.dispose([fed, outputs]);
        if (typeof expected === 'function') expected(values);
        else expect(values).to.deep.equal(expected);
      };
      for (let i = 0; i < RUNS; i++) await check();
      const given = await reasonNotToCapture(model, inputs());
      expect(given, 'why it was not captured').to.match(reason);
      expect(tftrt.stats().capturedGraphs).to.equal(capturedGraphs);
      for (let i = 0; i < RUNS; i++) await check();
      model.dispose();
      await expectBack(live, before_, 'after dispose');
      const arena = () => tftrt.stats().graphArenaBytesInUse;
      await expectBack(arena, graphArenaBytesInUse, 'memory of the arena');
    });
  }
});
