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

  for (const [message, lack] of [
    [
      'DefaultLogger 10: Could not find any implementation for node a due to insufficient workspace.',
      'workspace',
    ],
    ['Skipping tactic 3 due to insufficient memory on requested size of 5 detected', 'memory'],
    ['Requested amount of GPU memory (5 bytes) could not be allocated.', 'memory'],
    ['Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB', 'memory'],
    ['failed to allocate 1.5KiB from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory', 'memory'],
    ['Reason: INVALID_ARGUMENT: Out of GPU memory for execution context', 'memory'],
    ['Error Code 2: OutOfMemory (no further information)', 'memory'],
    ['OOM when allocating tensor with shape[1]', 'memory'],
    ['TensorRT could not convert the memory op', undefined],
  ] as const) {
    it(`tells ${lack === undefined ? 'no lack' : `a lack of ${lack}`} from '${message}'`, () => {
      expect(readLog(`one line\n${message}\nanother`).lack).to.equal(lack);
    });
  }

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
