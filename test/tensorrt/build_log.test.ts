import { expect } from 'chai';
import { readLog, readNotConverted } from '#src/tensorrt/build_log';

const at = (seconds: string, level: string, place: string, message: string) =>
  `2026-11-30 10:00:${seconds}: ${level} ${place}:42] ${message}`;
const ENGINE_OP = 'tensorflow/compiler/tf2tensorrt/kernels/trt_engine_op.cc';

describe('the log of a build', () => {
  it('tells how long each engine took', () => {
    const log = readLog(
      [
        at(
          '01.000000',
          'I',
          ENGINE_OP,
          'Building a new TensorRT engine for TRTEngineOp_000_000 with input shapes: [[1,8]]',
        ),
        at(
          '02.500000',
          'I',
          ENGINE_OP,
          'Building a new TensorRT engine for scope/TRTEngineOp_000_001 with input shapes: [[1,8]]',
        ),
        at('03.250000', 'I', ENGINE_OP, 'Added new engine to cache of TRTEngineOp_000_000. Cache size: 1'),
        at(
          '09.000000',
          'I',
          ENGINE_OP,
          'Added new engine to cache of scope/TRTEngineOp_000_001. Cache size: 1',
        ),
      ].join('\n'),
    );
    expect(log.buildMs).to.deep.equal({ TRTEngineOp_000_000: 2250, TRTEngineOp_000_001: 6500 });
    expect(log.failed).to.deep.equal({});
    expect(log.problems).to.deep.equal([]);
  });

  it('tells why an engine failed, and the warnings of TF-TRT only', () => {
    const log = readLog(
      [
        'a line of something else',
        at('01.000000', 'W', 'tensorflow/core/common_runtime/bfc_allocator.cc', 'unrelated'),
        at(
          '02.000000',
          'E',
          'tensorflow/compiler/tf2tensorrt/utils/trt_logger.cc',
          'DefaultLogger out of memory',
        ),
        at(
          '03.000000',
          'W',
          ENGINE_OP,
          'TF-TRT Warning: Engine creation for TRTEngineOp_000_002 failed. The native segment will be used instead. Reason: INTERNAL: no kernel',
        ),
      ].join('\n'),
    );
    expect(log.failed).to.deep.equal({ TRTEngineOp_000_002: 'INTERNAL: no kernel' });
    expect(log.problems).to.have.length(2);
    expect(log.problems[0]).to.equal('DefaultLogger out of memory');
  });

  it('may be empty', () => {
    expect(readLog('')).to.deep.equal({ buildMs: {}, failed: {}, problems: [] });
  });
});

describe('the table of ops that were not converted', () => {
  it('has an op, a reason, which may have bars in it, and a count in each row', () => {
    const csv = 'OP Name|Reason|Count\nTopKV2|not | in the list|3\nShape|denied|1\n\nbroken row\n';
    expect(readNotConverted(csv)).to.deep.equal([
      { op: 'TopKV2', reason: 'not|in the list', count: 3 },
      { op: 'Shape', reason: 'denied', count: 1 },
    ]);
    expect(readNotConverted('')).to.deep.equal([]);
  });
});
