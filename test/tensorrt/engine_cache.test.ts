import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import {
  clearEngineCache,
  engineCacheDir,
  engineKey,
  findEngines,
  keepEngines,
  newEngineFolder,
} from '#src/tensorrt/engine_cache';
import { setVariable, useEnvironment, useTemporaryFolder } from '../setup/helpers';

const MUCH = 2 ** 40;

describe('the engine cache', () => {
  const folder = useTemporaryFolder();
  useEnvironment(() => ({ TFTRT_CACHE_DIR: folder() }));

  const key = engineKey({ graph: 'a' });

  /** A folder as the builder leaves it. */
  function built(name = key, bytes = 1000): string {
    const { folder: made, inCache } = newEngineFolder(name);
    expect(inCache).to.equal(true);
    fs.writeFileSync(path.join(made, 'graph.pb'), 'a graph');
    fs.writeFileSync(path.join(made, 'TRTEngineOp_000_000.engine'), Buffer.alloc(bytes, 7));
    return made;
  }

  const keep = (name = key, { limit = MUCH, bytes = 1000, content = {} as unknown } = {}) =>
    keepEngines(name, built(name, bytes), content, limit);

  const entries = () => fs.readdirSync(engineCacheDir()).sort();

  it('gives back what it was given', async () => {
    expect(await findEngines(key)).to.equal(undefined);
    const kept = await keep(key, { content: { engines: ['e'] } });
    expect(kept!.directory).to.equal(path.join(folder(), 'engines', key));
    const found = await findEngines(key);
    expect(found).to.deep.equal({ directory: kept!.directory, content: { engines: ['e'] } });
    expect(fs.readFileSync(path.join(found!.directory, 'graph.pb'), 'utf8')).to.equal('a graph');
    expect(entries(), 'nothing else is left').to.deep.equal([key]);
  });

  it('names entries by all that engines depend on', () => {
    expect(engineKey({ graph: 'a', precision: 'FP16' })).to.match(/^[0-9a-f]{40}$/);
    expect(engineKey({ graph: 'a', precision: 'FP16' })).to.not.equal(
      engineKey({ graph: 'a', precision: 'FP32' }),
    );
    expect(engineKey({ graph: 'b' })).to.not.equal(key);
  });

  const damages: Array<[string, (directory: string) => void]> = [
    ['an engine of another size', (d) => fs.appendFileSync(path.join(d, 'TRTEngineOp_000_000.engine'), 'x')],
    [
      'one bit of an engine',
      (d) => fs.writeFileSync(path.join(d, 'TRTEngineOp_000_000.engine'), Buffer.alloc(1000, 6)),
    ],
    ['a missing engine', (d) => fs.rmSync(path.join(d, 'TRTEngineOp_000_000.engine'))],
    ['a missing manifest', (d) => fs.rmSync(path.join(d, 'manifest.json'))],
    ['half a manifest', (d) => fs.truncateSync(path.join(d, 'manifest.json'), 20)],
    ['a manifest of nothing', (d) => fs.writeFileSync(path.join(d, 'manifest.json'), 'null')],
    ['a manifest without files', (d) => edit(d, (manifest) => ({ ...manifest, files: {} }))],
    ['the manifest of another entry', (d) => edit(d, (manifest) => ({ ...manifest, key: engineKey({}) }))],
    ['an older format', (d) => edit(d, (manifest) => ({ ...manifest, format: 0 }))],
    [
      'files outside of the entry',
      (d) =>
        edit(d, ({ files, ...manifest }) => ({
          ...manifest,
          files: { '../../elsewhere': Object.values(files as object)[0] },
        })),
    ],
  ];
  for (const [what, damage] of damages) {
    it(`does not use, and removes, an entry with ${what}`, async () => {
      const { directory } = (await keep())!;
      damage(directory);
      expect(await findEngines(key)).to.equal(undefined);
      expect(fs.existsSync(directory)).to.equal(false);
      await keep();
      expect(await findEngines(key), 'made anew').to.not.equal(undefined);
    });
  }

  it('replaces a broken entry', async () => {
    const { directory } = (await keep())!;
    fs.rmSync(path.join(directory, 'manifest.json'));
    const again = await keep(key, { content: 'new' });
    expect(again!.content).to.equal('new');
    expect((await findEngines(key))!.content).to.equal('new');
  });

  it('keeps the first of two that were made at once', async () => {
    const [a, b] = [built(), built()];
    await keepEngines(key, a, 'first', MUCH);
    const second = await keepEngines(key, b, 'second', MUCH);
    expect(second!.content).to.equal('first');
    expect(entries()).to.deep.equal([key]);
  });

  it('keeps one whole entry where several are made at once', async () => {
    const folders = Array.from({ length: 6 }, () => built());
    const kept = await Promise.all(folders.map((made, i) => keepEngines(key, made, i, MUCH)));
    const { content } = (await findEngines(key))!;
    expect(kept.every((entry) => entry !== undefined)).to.equal(true);
    expect(kept.map((entry) => entry!.content)).to.include(content);
    expect(entries()).to.deep.equal([key]);
  });

  it('survives two processes that fill it at once', async () => {
    const code = `
      const cache = require('#src/tensorrt/engine_cache');
      const fs = require('node:fs');
      (async () => {
        for (let i = 0; i < 20; i++) {
          const { folder } = cache.newEngineFolder('k');
          fs.writeFileSync(folder + '/graph.pb', 'g' + i);
          if (await cache.keepEngines('k', folder, i, 1e9) === undefined) throw new Error('not kept');
          if (await cache.findEngines('k') === undefined) throw new Error('not found');
        }
      })().catch((error) => { console.error(error); process.exit(1); });`;
    const codes = await Promise.all(
      [1, 2].map(async () => {
        const child = spawn(process.execPath, ['-e', code], { stdio: 'inherit' });
        return (await once(child, 'close'))[0];
      }),
    );
    expect(codes).to.deep.equal([0, 0]);
    expect(entries()).to.deep.equal(['k']);
  });

  it('stays within its size: what was used longest ago goes', async () => {
    const names = ['a', 'b', 'c'];
    for (const [i, name] of names.entries()) {
      await keep(name, { bytes: 1000 });
      const then = new Date(Date.now() - (10 - i) * 60_000);
      fs.utimesSync(path.join(engineCacheDir(), name), then, then);
    }
    expect(await findEngines('a'), 'using it').to.not.equal(undefined);
    await keep('d', { bytes: 1000, limit: 4500 });
    expect(entries()).to.deep.equal(['a', 'c', 'd']);
    await keep('e', { bytes: 10_000, limit: 4500 });
    expect(entries(), 'the newest stays, whatever its size').to.deep.equal(['e']);
  });

  it('takes away what builds left that were broken off, after a day', async () => {
    const [old, recent] = [built('x'), built('y')];
    const then = new Date(Date.now() - 25 * 3600 * 1000);
    fs.utimesSync(old, then, then);
    fs.writeFileSync(path.join(engineCacheDir(), 'a file'), '');
    await keep();
    expect(fs.existsSync(old)).to.equal(false);
    expect(fs.existsSync(recent)).to.equal(true);
  });

  it('does not find what is not whole yet', async () => {
    built();
    expect(await findEngines(key)).to.equal(undefined);
  });

  it('is cleared', async () => {
    await keep();
    clearEngineCache();
    expect(await findEngines(key)).to.equal(undefined);
    clearEngineCache();
    await keep();
    expect(await findEngines(key)).to.not.equal(undefined);
  });

  it('is done without where it cannot be written', async () => {
    const file = path.join(folder(), 'a file');
    fs.writeFileSync(file, '');
    setVariable('TFTRT_CACHE_DIR', file);
    expect(await findEngines(key)).to.equal(undefined);
    const { folder: made, inCache } = newEngineFolder(key);
    expect(inCache).to.equal(false);
    fs.writeFileSync(path.join(made, 'graph.pb'), '');
    expect(await keepEngines(key, made, {}, MUCH)).to.equal(undefined);
    expect(fs.existsSync(path.join(made, 'graph.pb')), 'the engines are still there').to.equal(true);
    fs.rmSync(made, { recursive: true });
  });
});

function edit(directory: string, change: (manifest: Record<string, unknown>) => object): void {
  const file = path.join(directory, 'manifest.json');
  fs.writeFileSync(file, JSON.stringify(change(JSON.parse(fs.readFileSync(file, 'utf8')))));
}
