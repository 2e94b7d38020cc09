import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { runBuildProcess } from '#src/tensorrt/build_process';
import type { BuildRequest } from '#src/tensorrt/build_request';
import { useTemporaryFolder } from '../setup/helpers';
import { errorOf } from '../support/tftrt';

/** A request that fails on any machine: TensorRT computes on no CPU. */
const REQUEST: BuildRequest = {
  precision: 'FP32',
  device: 'cpu',
  memoryLimit: {},
  graphFile: 'source.pb',
  feeds: [],
  fetches: ['y:0'],
  initializers: [],
  samples: [[]],
  calibration: [],
  calibrationTables: {},
  minimumSegmentSize: 3,
  maxWorkspaceSizeBytes: 0,
  workspaceBound: 0,
  useCalibration: true,
  implicitBatch: false,
  profileStrategy: 'Range',
  embed: false,
  maxBatchSize: 0,
  nameSuffix: '',
};

/** Long enough to be seen building, and less than the builder takes to load TensorFlow. */
const SEEN_MS = 150;

describe('the process that builds engines', function () {
  this.timeout(60_000);
  const folder = useTemporaryFolder();

  it('tells why it failed', async () => {
    const error = await errorOf(() => runBuildProcess(folder(), REQUEST, () => undefined));
    expect(error.code).to.equal('TFTRT_ENGINE_BUILD_FAILED');
    expect(error.message).to.include('TensorRT needs a GPU').and.to.include('TensorFlow goes on serving');
  });

  it('has the limits of the memory that it is given', async () => {
    const limits: Array<[object, string]> = [
      [{ memoryLimitBytes: 0.5 }, 'memoryLimitBytes is 0.5'],
      [{ perProcessGpuMemoryFraction: 2 }, 'perProcessGpuMemoryFraction is 2'],
    ];
    for (const [memoryLimit, complaint] of limits) {
      const request = { ...REQUEST, memoryLimit };
      const error = await errorOf(() => runBuildProcess(folder(), request, () => undefined));
      expect(error.code).to.equal('TFTRT_INVALID_ARGUMENT');
      expect(error.message, 'what it makes of a wrong one').to.include(complaint);
    }
  });

  it('says that it was ended', async () => {
    const building = errorOf(() => runBuildProcess(folder(), REQUEST, () => undefined));
    const [pid] = await childrenOf(process.pid);
    process.kill(pid!, 'SIGKILL');
    const error = await building;
    expect(error.code).to.equal('TFTRT_ENGINE_BUILD_FAILED');
    expect(error.message).to.include('SIGKILL');
  });

  /** A process that starts a build, then runs `after`. */
  function start(background: boolean, after: string): ChildProcess {
    const made = path.join(folder(), 'build');
    fs.mkdirSync(made);
    const code = `
      const { runBuildProcess } = require('#src/tensorrt/build_process');
      runBuildProcess(${JSON.stringify(made)}, ${JSON.stringify(REQUEST)}, () => {}, ${background})
        .then(() => {}, () => console.log('settled'));
      ${after}`;
    return spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  }

  async function outcome(child: ChildProcess): Promise<{ code: number | null; output: string }> {
    let output = '';
    child.stdout!.on('data', (data) => {
      output += data;
    });
    const [code] = await once(child, 'close');
    return { code, output };
  }

  it('is waited for', async () => {
    expect(await outcome(start(false, ''))).to.deep.equal({ code: 0, output: 'settled\n' });
  });

  it('in the background keeps nobody from ending, ends with him and leaves no files', async () => {
    const child = start(true, `setTimeout(() => console.log('done'), ${SEEN_MS});`);
    const [builder] = await childrenOf(child.pid!);
    expect(await outcome(child)).to.deep.equal({ code: 0, output: 'done\n' });
    await ended(builder!);
    expect(fs.readdirSync(folder())).to.deep.equal([]);
  });

  it('ends with a process that exits in the middle of a build', async () => {
    const child = start(false, `setTimeout(() => process.exit(3), ${SEEN_MS});`);
    const [builder] = await childrenOf(child.pid!);
    expect(await outcome(child)).to.deep.equal({ code: 3, output: '' });
    await ended(builder!);
    expect(fs.readdirSync(folder())).to.deep.equal([]);
  });

  it('ends with a process that is killed, whatever it is at', async () => {
    // As the builder does, then busy for good.
    const busy = `
      const { nativeRuntime } = require('#src/native');
      if (!nativeRuntime().addon.endWithParent(process.ppid)) process.exit(1);
      require('node:fs').writeFileSync(${JSON.stringify(path.join(folder(), 'ready'))}, '');
      for (;;);`;
    const code = `
      require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(busy)}], { stdio: 'inherit' });`;
    const child = spawn(process.execPath, ['-e', code], { stdio: 'inherit' });
    const [builder] = await childrenOf(child.pid!);
    while (!fs.existsSync(path.join(folder(), 'ready'))) await sleep(50);
    child.kill('SIGKILL');
    await ended(builder!);
  });
});

/** The processes that another one started, once there are any. */
async function childrenOf(pid: number): Promise<number[]> {
  for (;;) {
    const children = fs
      .readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
      .map(Number);
    if (children.length > 0) return children;
    await sleep(5);
  }
}

function parentOf(pid: string): number | undefined {
  try {
    return Number(/^PPid:\s*(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
  } catch {
    return undefined;
  }
}

/** Waits until a process is gone, or is only not yet waited for by its parent. */
async function ended(pid: number): Promise<void> {
  const isLive = () => {
    try {
      return !/^State:\s*Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
    } catch {
      return false;
    }
  };
  while (isLive()) await sleep(20);
}
