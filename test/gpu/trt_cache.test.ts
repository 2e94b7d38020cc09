import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { tensorFlowPlace } from '#src/setup/paths';
import { expectEngine } from './api';
import { runTrap } from './child';
import type { CachedResult } from './traps/cached';

/** Engines on disk, from process to process: used where they fit, made anew where a file is not what it should be. */
describe('TensorRT: engine cache', function () {
  this.timeout(600_000);

  let folder: string;
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tftrt-engines-'));
  });
  afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

  /** A process with a cache of its own; the libraries stay where they are. */
  const run = (name: keyof typeof import('./traps/cached')) =>
    runTrap<CachedResult>('cached.js', name, {
      env: { TFTRT_CACHE_DIR: folder, TFTRT_TENSORFLOW: tensorFlowPlace().home },
    });

  function expectServed(result: CachedResult, fromCache: boolean): void {
    expectEngine({ ...result, engines: result.fromCache });
    expect(result.right, 'right answers').to.equal(true);
    expect(result.fromCache).to.deep.equal(result.fromCache.map(() => fromCache));
  }

  /** All files of the cache. */
  const files = () =>
    fs
      .readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name));

  it('serves the next process, and only the same model in the same precision', async () => {
    expectServed(await run('first'), false);
    expect(files(), 'files in the cache').to.have.length.above(0);
    expectServed(await run('first'), true);
    expectServed(await run('otherWeights'), false);
    expectServed(await run('otherPrecision'), false);
    expectServed(await run('first'), true);
  });

  const damages: Array<[string, (contents: Buffer) => Buffer]> = [
    ['empty', () => Buffer.alloc(0)],
    ['cut off in the middle', (contents) => contents.subarray(0, contents.length >> 1)],
    ['short of its last byte', (contents) => contents.subarray(0, -1)],
    ['text', () => Buffer.from('This is no engine.\n'.repeat(100))],
    ['zeros of the same size', (contents) => Buffer.alloc(contents.length)],
    ['wrong in one bit in the middle', (contents) => flipBit(contents, contents.length >> 1)],
  ];

  it('builds anew where a file is damaged', async () => {
    expectServed(await run('first'), false);
    const whole = files().map((file) => ({ file, contents: fs.readFileSync(file) }));
    for (const [what, damage] of damages) {
      for (const { file, contents } of whole) fs.writeFileSync(file, damage(contents));
      const rebuilt = await run('first');
      expect(rebuilt.right, `right answers with files that are ${what}`).to.equal(true);
      expectServed(rebuilt, false);
    }
    // What was built anew is there for the next process.
    expectServed(await run('first'), true);
  });

  it("does not take another model's engine under its name", async () => {
    expectServed(await run('first'), false);
    const mine = files();
    expectServed(await run('otherWeights'), false);
    const others = files().filter((file) => !mine.includes(file));
    expect(others).to.have.length.above(0);
    // As many files of the same kind: each of the first model's becomes one of the other's.
    for (const [i, file] of mine.entries()) fs.copyFileSync(others[i % others.length]!, file);
    expectServed(await run('first'), false);
  });

  it('goes without a cache that cannot be written', async () => {
    fs.rmSync(folder, { recursive: true });
    fs.writeFileSync(folder, 'a file, where the folder should be');
    const result = await run('first');
    expectServed(result, false);
  });

  it('may be filled by two processes at once', async () => {
    for (const result of await Promise.all([run('first'), run('first')])) {
      expectEngine({ ...result, engines: result.fromCache });
      expect(result.right).to.equal(true);
    }
    expectServed(await run('first'), true);
  });
});

function flipBit(contents: Buffer, at: number): Buffer {
  const copy = Buffer.from(contents);
  if (at < copy.length) copy[at]! ^= 1;
  return copy;
}
