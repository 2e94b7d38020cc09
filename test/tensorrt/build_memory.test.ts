import { expect } from 'chai';
import { type Configuration, TftrtError } from 'tfjs-backend-tftrt';
import type { NativeRuntime } from '#src/native';
import {
  memoryAdvice,
  memoryLimitOf,
  refusedRun,
  workspaceBound,
  workspaceOf,
} from '#src/tensorrt/build_memory';

describe('memory for building engines', () => {
  it('is limited as that of the process that is built for; the rest is not passed on', () => {
    const others = { allowGrowth: false, graphArenaBytes: 5, precision: 'FP16' as const };
    expect(memoryLimitOf({ ...others, memoryLimitBytes: 7, perProcessGpuMemoryFraction: 0.5 })).to.deep.equal(
      {
        memoryLimitBytes: 7,
        perProcessGpuMemoryFraction: 0.5,
      },
    );
    expect(JSON.stringify(memoryLimitOf(others))).to.equal('{}');
  });

  it('bounds the scratch of a layer, where it is limited', () => {
    const workspace = (
      wanted: number,
      configuration: Configuration,
      deviceLimitBytes: number | undefined = 100,
    ) =>
      workspaceOf({
        maxWorkspaceSizeBytes: wanted,
        workspaceBound: workspaceBound({
          configuration: { ...configuration, devices: ['gpu'] },
          addon: { stats: () => ({ deviceLimitBytes }) },
        } as unknown as NativeRuntime),
      });
    expect(workspace(0, {}), 'as much as there is').to.equal(0);
    expect(workspace(500, { allowGrowth: false })).to.equal(500);
    for (const limit of [{ memoryLimitBytes: 150 }, { perProcessGpuMemoryFraction: 0.1 }]) {
      expect(workspace(0, limit)).to.equal(100);
      expect(workspace(500, limit)).to.equal(100);
      expect(workspace(50, limit)).to.equal(50);
    }
  });

  it('that does not suffice: the advice says what to raise', () => {
    const memoryLimit = { memoryLimitBytes: 4096, perProcessGpuMemoryFraction: 0.5 };
    const advice = (lack: 'memory' | 'workspace' | undefined, limit: object, maxWorkspaceSizeBytes = 0) =>
      memoryAdvice(lack, { memoryLimit: limit, maxWorkspaceSizeBytes });
    expect(advice(undefined, memoryLimit, 5)).to.equal('');
    expect(advice('memory', memoryLimit)).to.include('Raise memoryLimitBytes').and.to.include('4096');
    expect(advice('memory', { perProcessGpuMemoryFraction: 0.5 })).to.include(
      'Raise perProcessGpuMemoryFraction',
    );
    expect(advice('memory', {})).to.include('memoryLimitBytes').and.to.not.include('Raise');
    expect(advice('workspace', {}, 1234))
      .to.include('1234')
      .and.to.match(/raise maxWorkspaceSizeBytes\.$/);
    expect(advice('workspace', memoryLimit, 1234)).to.match(
      /raise maxWorkspaceSizeBytes, and memoryLimitBytes/,
    );
    expect(advice('workspace', {}), 'without a bound').to.include('too little memory');
  });

  it('that does not suffice where engines run is told as that', () => {
    const placeholder = new TftrtError(
      'TFTRT_INVALID_ARGUMENT',
      "the graph: You must feed a value for placeholder tensor 'w' with dtype float and shape [3]",
    );
    const error = refusedRun(placeholder, 'net') as TftrtError;
    expect(error.code).to.equal('TFTRT_ENGINE_BUILD_FAILED');
    expect(error.message).to.include('net').and.to.include('raise memoryLimitBytes');
    expect(error.cause).to.equal(placeholder);
    for (const other of [new TftrtError('TFTRT_INVALID_ARGUMENT', 'another'), new Error('feed'), undefined]) {
      expect(refusedRun(other, 'net')).to.equal(other);
    }
  });
});
