import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { tensorFlowPlace } from '#src/setup/paths';
import { runTrap } from './child';
import type { AutoResult } from './traps/auto';
import type { OfModel } from './traps/auto_of_model';

/** Engines that are built by themselves, with `allowBuildAtRuntime`. */
describe('TensorRT: builds at run time', function () {
  this.timeout(600_000);

  let folder: string;
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tftrt-auto-'));
  });
  afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

  const run = <Result>(name: keyof typeof import('./traps/auto')) =>
    runTrap<Result>('auto.js', name, {
      env: { TFTRT_CACHE_DIR: folder, TFTRT_TENSORFLOW: tensorFlowPlace().home },
    });

  it('make models faster that are run again and again, and no call waits for them', async () => {
    const result = await run<AutoResult>('recurring');
    expect(result.builds).to.deep.equal({ running: 0, done: 1, failed: 0 });
    expect(result.predictions).to.be.at.least(150);
    expect(result.byEngine, 'of the last 100 predictions').to.be.at.least(90);
    expect(result.worstError).to.be.at.most(1e-2);
    expect(result.slowestMs, 'of one prediction').to.be.below(500);
    // The next process finds the engine.
    const again = await run<AutoResult>('recurring');
    expect(again.builds).to.deep.equal({ running: 0, done: 1, failed: 0 });
    expect(again.predictions).to.be.below(result.predictions);
  });

  it('are allowed for one model by its build, as far as maximumCachedEngines goes', async () => {
    const { builds, byEngine, worstError } = await runTrap<OfModel>('auto_of_model.js', 'ofModel', {
      env: { TFTRT_CACHE_DIR: folder, TFTRT_TENSORFLOW: tensorFlowPlace().home },
    });
    const one = { running: 0, done: 1, failed: 0 };
    expect(builds).to.deep.equal([one, one, one]);
    expect(byEngine).to.deep.equal([10, 10, 0]);
    expect(worstError).to.be.at.most(1e-5);
  });

  it('do not keep a process from ending, and leave no files', async () => {
    const begun = performance.now();
    const { running } = await run<{ running: number }>('unfinished');
    expect(running).to.equal(1);
    expect(performance.now() - begun, 'ms').to.be.below(60_000);
    const engines = path.join(folder, 'engines');
    expect(fs.existsSync(engines) ? fs.readdirSync(engines) : []).to.deep.equal([]);
  });

  it('of a model that is disposed of meanwhile leave nothing', async () => {
    const { builds, programs, tensors } =
      await run<Awaited<ReturnType<typeof import('./traps/auto').disposed>>>('disposed');
    expect(builds).to.deep.equal({ running: 0, done: 0, failed: 1 });
    expect({ programs, tensors }).to.deep.equal({ programs: 0, tensors: 0 });
  });
});
