import fs from 'node:fs';
import * as tf from '@tensorflow/tfjs-core';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { inputsOf } from '#src/create_inference_graph';
import type { SignatureEndpoint } from '#src/models/signature';
import { expectTftrtError } from '../setup/helpers';
import { readFixture } from '../support/fixtures';
import { cleanErrorOf, onTftrt } from '../support/tftrt';

const bytesOf = (name: string) =>
  new Uint8Array(fs.readFileSync(`${readFixture('frozen_graphs', name).folder}.pb`));

describe('createInferenceGraph: the shapes of inputs', () => {
  const input = (shape: number[] | null): SignatureEndpoint => ({
    name: 'x',
    tensor: 'x:0',
    tfDtype: 'DT_FLOAT',
    dtype: 'float32',
    shape,
  });
  const shapes = (shape: number[] | null, given?: number[], maxBatchSize = 4) => {
    const [found] = inputsOf([input(shape)], given === undefined ? {} : { x: given }, maxBatchSize);
    return [found!.declared, found!.sample];
  };

  it('are those of the graph, with the largest batch', () => {
    expect(shapes([-1, 8, 3])).to.deep.equal([
      [-1, 8, 3],
      [4, 8, 3],
    ]);
    expect(shapes([2, 8])).to.deep.equal([
      [2, 8],
      [2, 8],
    ]);
    expect(shapes([])).to.deep.equal([[], []]);
  });

  it('are completed by the option', () => {
    expect(shapes([-1, -1, 3], [-1, 8, 3])).to.deep.equal([
      [-1, 8, 3],
      [4, 8, 3],
    ]);
    expect(shapes(null, [2, 5])).to.deep.equal([
      [2, 5],
      [2, 5],
    ]);
    expect(shapes([-1, -1], [3, 7])).to.deep.equal([
      [3, 7],
      [3, 7],
    ]);
  });

  it('must be known beyond the batch', () => {
    for (const [declared, given] of [
      [[-1, -1, 3]],
      [null],
      [
        [-1, -1],
        [-1, -1],
      ],
    ] as Array<[number[] | null, number[]?]>) {
      const error = expectTftrtError('TFTRT_UNKNOWN_SHAPE', () => shapes(declared, given));
      expect(error.message).to.include("'x'").and.to.include('shapes');
    }
  });

  it('must agree with the graph and the largest batch', () => {
    for (const work of [
      () => shapes([-1, 8], [-1, 9]),
      () => shapes([-1, 8], [-1, 8, 1]),
      () => shapes([8, 8]),
      () => shapes([-1, 8], [5, 8]),
      () => shapes([0, 8]),
      () => shapes([-1, 8], ['8'] as unknown as number[]),
      () => inputsOf([input([-1, 8])], { y: [1, 8] }, 1),
    ]) {
      expect(expectTftrtError('TFTRT_INVALID_ARGUMENT', work).message).to.include('expected');
    }
  });
});

describe('createInferenceGraph: refusals', () => {
  onTftrt();
  const outputs = ['probabilities'];
  const convert = (...given: unknown[]) =>
    (tftrt.createInferenceGraph as (...all: unknown[]) => Promise<Uint8Array>)(...given);

  const wrong: Array<[string, () => unknown[], string]> = [
    ['no bytes', () => ['graph.pb', outputs], 'TFTRT_INVALID_ARGUMENT'],
    ['no outputs', () => [bytesOf('layers'), []], 'TFTRT_INVALID_ARGUMENT'],
    ['what is no graph', () => [new Uint8Array([1, 2, 3]), outputs], 'TFTRT_INVALID_GRAPH_DEF'],
    ['an unknown output', () => [bytesOf('layers'), ['nowhere']], 'TFTRT_UNKNOWN_OUTPUT'],
    ['a variable', () => [bytesOf('unfrozen'), ['y']], 'TFTRT_NOT_FROZEN'],
    ['an unknown shape', () => [bytesOf('dtypes'), ['more']], 'TFTRT_UNKNOWN_SHAPE'],
    ['an unknown option', () => [bytesOf('layers'), outputs, { maxBatch: 1 }], 'TFTRT_INVALID_ARGUMENT'],
    ['a batch of 0', () => [bytesOf('layers'), outputs, { maxBatchSize: 0 }], 'TFTRT_INVALID_ARGUMENT'],
    [
      'a wrong precision',
      () => [bytesOf('layers'), outputs, { precisionMode: 'FP8' }],
      'TFTRT_INVALID_ARGUMENT',
    ],
    [
      'small segments',
      () => [bytesOf('layers'), outputs, { minimumSegmentSize: 2 }],
      'TFTRT_INVALID_ARGUMENT',
    ],
    [
      'a workspace below 0',
      () => [bytesOf('layers'), outputs, { maxWorkspaceSizeBytes: -1 }],
      'TFTRT_INVALID_ARGUMENT',
    ],
    [
      'INT8 without samples',
      () => [bytesOf('layers'), outputs, { precisionMode: 'INT8' }],
      'TFTRT_INVALID_ARGUMENT',
    ],
    [
      'samples of no effect',
      () => [bytesOf('layers'), outputs, { calibration: { inputs: [] } }],
      'TFTRT_INVALID_ARGUMENT',
    ],
    [
      'samples of a wrong batch',
      () => [
        bytesOf('layers'),
        ['pooled'],
        {
          maxBatchSize: 2,
          precisionMode: 'INT8',
          calibration: { inputs: [{ image: tf.ones([1, 8, 8, 3]) }] },
        },
      ],
      'TFTRT_INVALID_ARGUMENT',
    ],
  ];
  for (const [what, given, code] of wrong) {
    it(`refuses ${what}`, async () => {
      const list = given();
      const error = await cleanErrorOf(() => convert(...list));
      tf.dispose(list as unknown as tf.TensorContainer);
      expect(error.code, error.message).to.equal(code);
    });
  }

  it('says that it needs a GPU', async function () {
    if (tftrt.devices().some(({ type }) => type === 'GPU')) this.skip();
    const error = await cleanErrorOf(() => convert(bytesOf('layers'), outputs, { maxBatchSize: 2 }));
    expect(error.code).to.equal('TFTRT_TENSORRT_UNAVAILABLE');
    expect(error.message).to.include('createInferenceGraph').and.to.include('CPU');
  });
});
