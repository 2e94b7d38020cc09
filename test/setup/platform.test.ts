import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { expect } from 'chai';
import { ADDON_FILES } from '#src/setup/addon';
import { addonFile, locateTensorFlow } from '#src/setup/paths';
import {
  complaintAboutLibc,
  complaintAboutMachine,
  complaintAboutPlatform,
  NEEDED_OF_SYSTEM,
  refuse,
  thisMachine,
} from '#src/setup/platform';
import { expectTftrtError } from './helpers';

describe('the platform', () => {
  const machine = { system: 'linux', architecture: 'x64', cpuFeatures: 'fpu sse4_2 avx avx2' };

  it('is fine here', () => {
    expect(thisMachine().cpuFeatures).to.contain('sse2');
    expect(complaintAboutPlatform()).to.equal(undefined);
  });

  const refused: [string, ReturnType<typeof complaintAboutMachine>, RegExp, RegExp][] = [
    ['macOS', complaintAboutMachine({ ...machine, system: 'darwin' }), /darwin on x64/, /Linux on x64/],
    ['ARM', complaintAboutMachine({ ...machine, architecture: 'arm64' }), /linux on arm64/, /Linux on x64/],
    ['no AVX', complaintAboutMachine({ ...machine, cpuFeatures: 'fpu sse4_2' }), /no AVX/, /with AVX/],
    ['musl', complaintAboutLibc(undefined), /not glibc/, /without `alpine`/],
    ['an old glibc', complaintAboutLibc('2.9'), /glibc 2\.9, .* 2\.17 or later/, /newer release/],
  ];
  for (const [name, complaint, problem, remedy] of refused) {
    it(`is refused, with what to do: ${name}`, () => {
      const { message } = expectTftrtError('TFTRT_PLATFORM_UNSUPPORTED', () => refuse(complaint));
      expect(message).to.match(problem).and.match(remedy).and.contain('npx tftrt doctor');
    });
  }

  it('is taken where the processor does not say what it can do', () => {
    expect(complaintAboutMachine({ ...machine, cpuFeatures: '' })).to.equal(undefined);
    expect(complaintAboutLibc('2.17')).to.equal(undefined);
  });
});

/** What native/old_systems.h knows of. */
const NEWEST_COMPILER = 12;

describe('what the addon and TensorFlow need of the system', () => {
  const addon = ADDON_FILES.filter((file) => !file.endsWith('.json')).map((file) =>
    path.join(path.dirname(addonFile('tftrt')), file),
  );

  /** The newest version of each kind that a file's symbols have. */
  function needs(files: readonly string[]): Record<string, string> {
    const symbols = execFileSync('objdump', ['-T', ...files], { encoding: 'utf8', maxBuffer: 2 ** 30 });
    const newest: Record<string, string> = {};
    for (const [, kind, version] of symbols.matchAll(/\((GLIBC|GLIBCXX|CXXABI)_([\d.]+)\)/g)) {
      if (isNewer(version!, newest[kind!] ?? '0')) newest[kind!] = version!;
    }
    return newest;
  }

  const isNewer = (a: string, b: string) => a.localeCompare(b, 'en', { numeric: true }) > 0;

  it('is what is stated', function () {
    if (process.env.ASAN_OPTIONS) this.skip(); // its addon is not the package's
    const compiler = execFileSync('g++', ['-dumpversion'], { encoding: 'utf8' }).trim();
    if (Number.parseInt(compiler, 10) > NEWEST_COMPILER) {
      console.warn(
        `Not measured: this is g++ ${compiler}, whose headers may ask for more of the system. ` +
          `An addon that is to be given away is compiled with g++ ${NEWEST_COMPILER} or older.`,
      );
      this.skip();
    }
    const { cc, framework } = locateTensorFlow().libraries;
    expect(needs([...addon, cc, framework])).to.deep.equal(NEEDED_OF_SYSTEM);
  });

  it('is, of Node.js, Node-API only: one addon is for all versions', () => {
    const symbols = execFileSync('nm', ['-D', '--undefined-only', ...addon], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'], // that one of them has no symbols
    });
    const ofNode = symbols.match(/\b(_ZNK?2v8|_ZNK?4node|uv_|napi_|node_api_)\w*/g)!;
    expect(ofNode).to.include('napi_create_int32');
    expect(ofNode.filter((symbol) => !/^(napi|node_api)_/.test(symbol))).to.deep.equal([]);
  });

  it('leaves the path of the machine it was compiled on out of the addon', function () {
    if (process.env.ASAN_OPTIONS) this.skip();
    for (const file of addon) {
      const text = execFileSync('strings', [file], { encoding: 'utf8' });
      expect(text).to.not.contain(locateTensorFlow().home);
    }
  });
});
