import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import {
  describeMissing,
  findLibraries,
  type GpuLibrary,
  gpuLibrariesHome,
  type MissingLibrary,
  searchPlaces,
} from '#src/setup/gpu_libraries';
import { useEnvironment, useTemporaryFolder, writeFile, writeLibrary } from './helpers';

const ONE: GpuLibrary = { file: 'libone.so.12', folder: 'nvidia/one/lib' };
const TWO: GpuLibrary = { file: 'libtwo.so.8', folder: 'nvidia/two/lib', version: '8.9' };

describe('findLibraries', () => {
  const folder = useTemporaryFolder();
  const inside = (...names: string[]) => path.join(folder(), ...names);
  const find = (linker: Record<string, string[]> = {}) => findLibraries([ONE, TWO], places(linker));
  const places = (linker: Record<string, string[]> = {}) => ({
    homes: [inside('home'), inside('cache')],
    folders: [inside('flat'), inside('usr')],
    knownToLinker: (file: string) => linker[file] ?? [],
  });

  it('prefers what lies beside TensorFlow, then the cache, then the folders in their order, then the linker', () => {
    const candidates = [
      inside('home/nvidia/one/lib/libone.so.12'),
      inside('cache/nvidia/one/lib/libone.so.12'),
      inside('flat/libone.so.12'),
      inside('usr/libone.so.12'),
      inside('linker/libone.so.12'),
    ];
    for (const file of candidates) writeLibrary(file);
    for (const file of candidates) {
      expect(find({ 'libone.so.12': [candidates.at(-1)!] }).found.get(ONE)).to.equal(file);
      fs.rmSync(file);
    }
  });

  it('lists all missing files, and where they were sought', () => {
    const { missing } = find();
    const text = describeMissing(missing, places());
    expect(text.match(/^ {2}missing: .*$/gm)).to.deep.equal([
      `  missing: ${inside('home/nvidia/one/lib/libone.so.12')}`,
      `  missing: ${inside('home/nvidia/two/lib/libtwo.so.8')}`,
    ]);
    for (const place of ['cache', 'flat', 'usr']) expect(text).to.contain(inside(place));
  });

  it('names a file of another version instead of taking it', () => {
    writeLibrary(inside('usr/libone.so.11'));
    writeLibrary(inside('flat/libtwo.so.8.0.5'));
    fs.symlinkSync('libtwo.so.8.0.5', inside('flat/libtwo.so.8'));
    const { found, missing } = find();
    expect(found.size).to.equal(0);
    expect(missing.map(({ otherVersions }) => otherVersions)).to.deep.equal([
      [inside('usr/libone.so.11')],
      [inside('flat/libtwo.so.8.0.5')],
    ]);
    expect(describeMissing(missing, places())).to.contain(`wrong version: ${inside('usr/libone.so.11')}\n`);
  });

  it('goes on to the right version behind a wrong one', () => {
    writeLibrary(inside('flat/libtwo.so.8.0.5'));
    fs.symlinkSync('libtwo.so.8.0.5', inside('flat/libtwo.so.8'));
    writeLibrary(inside('usr/libtwo.so.8.9.7'));
    fs.symlinkSync('libtwo.so.8.9.7', inside('usr/libtwo.so.8'));
    expect(find().found.get(TWO)).to.equal(inside('usr/libtwo.so.8'));
  });

  it('passes over a damaged file, and names it where there is no other', () => {
    writeFile(inside('flat/libone.so.12'), 'not a library');
    const [{ damaged }] = find().missing as [MissingLibrary];
    expect(damaged).to.deep.equal([
      { file: inside('flat/libone.so.12'), damage: 'it is no shared library for x86-64' },
    ]);
    expect(describeMissing(find().missing, places()).split('\n')[0]).to.equal(
      `  unusable: ${inside('flat/libone.so.12')} (it is no shared library for x86-64)`,
    );
    writeLibrary(inside('usr/libone.so.12'));
    expect(find().found.get(ONE)).to.equal(inside('usr/libone.so.12'));
  });

  it('takes a link that leads nowhere for missing', () => {
    fs.mkdirSync(inside('flat'));
    fs.symlinkSync('gone', inside('flat/libone.so.12'));
    expect(find().missing.map(({ library }) => library)).to.contain(ONE);
  });
});

describe('searchPlaces', () => {
  useEnvironment(() => ({
    TFTRT_CACHE_DIR: '/cache',
    TFTRT_TENSORFLOW: undefined,
    LD_LIBRARY_PATH: '/mine::/yours',
  }));

  it('begins with the cache, where set-up puts the libraries beside TensorFlow', () => {
    expect(gpuLibrariesHome()).to.equal('/cache/tensorflow-2.17.1');
    expect(searchPlaces().homes).to.deep.equal(['/cache/tensorflow-2.17.1']);
  });

  it("puts nothing into an installation of the user's, but looks there first", () => {
    process.env.TFTRT_TENSORFLOW = '/site-packages';
    expect(gpuLibrariesHome()).to.equal('/cache/tensorflow-2.17.1-gpu');
    expect(searchPlaces().homes).to.deep.equal(['/site-packages', '/cache/tensorflow-2.17.1-gpu']);
    expect(searchPlaces().folders).to.include.members(['/site-packages/tensorflow', '/mine', '/yours']);
  });
});
