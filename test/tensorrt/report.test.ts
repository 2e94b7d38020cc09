import { expect } from 'chai';
import { ConversionReport, type EngineReport, type ProfileReport } from '#src/tensorrt/report';

const engine: EngineReport = {
  name: 'TRTEngineOp_000_000',
  precision: 'FP16',
  nodes: 5,
  ops: { Relu: 2, Conv2D: 3 },
  sizeBytes: 3 * 2 ** 20,
  buildMs: 12_345,
  fromCache: false,
};

const served: ProfileReport = {
  shapes: [[[1, 8]]],
  engines: [engine],
  native: [{ op: 'TopKV2', count: 1, reason: 'not supported' }],
  serving: 'tensorrt',
  reason: 'right and faster',
  latencyMs: { tensorflow: 2, tensorrt: 0.5 },
  difference: 1e-4,
  tolerance: 0.1,
  captured: true,
};
const refused: ProfileReport = {
  ...served,
  shapes: [
    [
      [1, 8],
      [2, 8],
      [4, 8],
    ],
  ],
  serving: 'tensorflow',
  reason: 'TensorFlow was faster',
  difference: 3e-4,
  captured: false,
  captureReason: 'TensorFlow serves',
};

describe('the report of a build', () => {
  it('of one profile is that profile', () => {
    const report = new ConversionReport('model', 'FP16', [served], 20_000);
    expect(report).to.include({
      serving: 'tensorrt',
      reason: 'right and faster',
      captured: true,
      difference: 1e-4,
    });
    expect(report.engines).to.deep.equal([engine]);
    expect(report.native).to.deep.equal(served.native);
    expect(report.latencyMs).to.deep.equal({ tensorflow: 2, tensorrt: 0.5 });
    expect(report.captureReason).to.equal(undefined);
  });

  it('of several is as good as the worst', () => {
    const report = new ConversionReport('model', 'FP16', [served, refused], 20_000);
    expect(report).to.include({
      serving: 'tensorflow',
      reason: 'right and faster; TensorFlow was faster',
      captured: false,
      captureReason: 'TensorFlow serves',
      difference: 3e-4,
    });
    expect(report.engines).to.have.length(2);
  });

  it('has no difference where nothing was compared', () => {
    const { difference: _difference, latencyMs: _latency, ...rest } = refused;
    const report = new ConversionReport('model', 'FP32', [{ ...rest, engines: [] }], 1);
    expect(report.difference).to.equal(undefined);
    expect(report.toString()).to.include('TensorFlow').and.to.not.include('NaN');
  });

  it('reads as text', () => {
    const text = new ConversionReport(
      'model',
      'FP16',
      [
        { ...served, buildMemory: { peakBytes: 1.5 * 2 ** 20, limitBytes: 2 ** 30 } },
        { ...refused, engines: [{ ...engine, fromCache: true }] },
      ],
      20_000,
    ).toString();
    for (const part of [
      'model, FP16, 20.0 s',
      'inputs [1,8]: served by TensorRT (right and faster)',
      'TRTEngineOp_000_000: 5 nodes, FP16, 3.0 MiB, built in 12.3 s',
      '3 Conv2D, 2 Relu',
      "building took 1.5 MiB of the GPU's memory (1024.0 MiB allowed)",
      'in TensorFlow: 1 TopKV2 (not supported)',
      'TensorFlow 2.000 ms, TensorRT 0.500 ms; largest difference 1.0e-4 (0.1 allowed)',
      'replayed as a CUDA graph',
      'inputs [1,8]…[2,8]…[4,8]: served by TensorFlow (TensorFlow was faster)',
      'from the cache; built in 12.3 s',
      'not a CUDA graph: TensorFlow serves',
    ]) {
      expect(text).to.include(part);
    }
  });
});
