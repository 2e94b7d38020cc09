import * as tf from '@tensorflow/tfjs-core';
import { expect } from 'chai';
import { type BuildOptions, decisiveOptions, resolveOptions } from '#src/tensorrt/options';
import { expectTftrtError } from '../setup/helpers';

describe('options of build', () => {
  it('have defaults', () => {
    expect(resolveOptions({}, {})).to.deep.equal({
      precision: 'FP32',
      maxWorkspaceSizeBytes: 0,
      minimumSegmentSize: 3,
      useCalibration: true,
      cache: true,
      tolerance: 1e-3,
      force: false,
    });
  });

  it('come from configure where they are not given', () => {
    const configuration = {
      precision: 'FP16' as const,
      maxWorkspaceSizeBytes: 7,
      minimumSegmentSize: 9,
      useCalibration: false,
    };
    expect(resolveOptions({}, configuration)).to.include({ ...configuration, tolerance: 0.1 });
    expect(resolveOptions({ precision: 'TF32', minimumSegmentSize: 4 }, configuration)).to.include({
      precision: 'TF32',
      minimumSegmentSize: 4,
      maxWorkspaceSizeBytes: 7,
    });
  });

  it('name engines in the cache as ever, whatever does not concern what they compute', () => {
    const others: BuildOptions = {
      maximumCachedEngines: 4,
      allowBuildAtRuntime: true,
      force: true,
      tolerance: 1,
    };
    for (const options of [{}, others]) {
      // As text: the order counts.
      expect(JSON.stringify(decisiveOptions(resolveOptions(options, {})))).to.equal(
        '{"precision":"FP32","maxWorkspaceSizeBytes":0,"minimumSegmentSize":3,"maximumCachedEngines":1,"useCalibration":true}',
      );
    }
  });

  it('do without calibration where configure says so, unless they say otherwise', () => {
    const configuration = { precision: 'INT8' as const, useCalibration: false };
    expect(resolveOptions({}, configuration).useCalibration).to.equal(false);
    expectTftrtError('TFTRT_INVALID_ARGUMENT', () => resolveOptions({ useCalibration: true }, configuration));
  });

  it('take INT8 with samples, with a table, or without calibration', () => {
    for (const options of [
      { calibration: { inputs: [[]] } },
      { calibration: { table: '{}' } },
      { useCalibration: false },
    ] as BuildOptions[]) {
      expect(resolveOptions({ precision: 'INT8', ...options }, {}).precision).to.equal('INT8');
    }
  });

  const wrong: Array<[string, object, string]> = [
    ['an unknown one', { maxWorkspace: 1 }, 'maxWorkspace'],
    ['an unknown precision', { precision: 'fp16' }, 'fp16'],
    ['half a workspace byte', { maxWorkspaceSizeBytes: 0.5 }, 'maxWorkspaceSizeBytes'],
    ['a workspace in words', { maxWorkspaceSizeBytes: '1 GB' }, 'maxWorkspaceSizeBytes'],
    ['segments that end the process', { minimumSegmentSize: 2 }, 'minimumSegmentSize'],
    ['a permission in words', { allowBuildAtRuntime: 'yes' }, 'allowBuildAtRuntime is yes'],
    [
      'later builds of INT8 with calibration',
      { precision: 'INT8', calibration: { table: '{}' }, allowBuildAtRuntime: true },
      'allowBuildAtRuntime',
    ],
    ['no cached engine', { maximumCachedEngines: 0 }, 'maximumCachedEngines'],
    ['a tolerance below zero', { tolerance: -1e-9 }, 'tolerance'],
    ['a tolerance that is no number', { tolerance: Number.NaN }, 'tolerance'],
    ['no profile', { profiles: [] }, 'profiles'],
    ['no inputs', { inputs: [] }, 'inputs'],
    ['one input that is not in a list', { inputs: { x: 1 } }, 'inputs is no list'],
    ['one profile that is not in a list', { profiles: { min: [1], max: [2] } }, 'profiles is no list'],
    ['one output that is not in a list', { outputs: 'y' }, 'outputs is no list'],
    ['a cache that is a path', { cache: '/tmp' }, 'cache is /tmp'],
    ['a force that is a number', { force: 1 }, 'force is 1'],
    ['a listener that is none', { onProgress: 'log' }, 'onProgress is log'],
    ['a tolerance in words', { tolerance: '1' }, 'tolerance'],
    ['a precision instead of options', 'FP16' as never, "got 'FP16'"],
    ['null instead of options', null as never, 'got null'],
    ['INT8 without calibration', { precision: 'INT8' }, 'calibration'],
    ['a calibration of nothing', { calibration: {} }, 'calibration'],
    ['a calibration that is null', { calibration: null }, 'calibration'],
    ['a calibration without samples', { calibration: { inputs: [] } }, 'calibration'],
    ['a calibration of a tensor', { calibration: { inputs: tf.scalar } }, 'calibration'],
    ['a table that is no text', { calibration: { table: 5 } }, 'calibration'],
  ];
  for (const [what, options, part] of wrong) {
    it(`refuse ${what}`, () => {
      const error = expectTftrtError('TFTRT_INVALID_ARGUMENT', () => resolveOptions(options, {}));
      expect(error.message).to.include(part).and.to.include('expected');
    });
  }
});
