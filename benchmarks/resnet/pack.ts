import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { cacheDir, packageRoot } from '#src/setup/paths';
import { peerFolder } from '../peer';

/** A transfer may carry this much. */
const PART_BYTES = 48 * 2 ** 20;
/** What the archive calls the cache: TFTRT_CACHE_DIR there. */
const CACHE = 'cache';
const PARTS = ['code', 'models'];
/** Compiled: the last two are what benchmarks share with the demo and the tests. */
const FOLDERS = ['dist', 'dist-dev/benchmarks', 'dist-dev/demo', 'dist-dev/test/support'];

/**
 * Packs what the benchmark needs on a machine that has only Node and TensorFlow's libraries: `resnet-code.tar.xz` with the
 * project as compiled and the peer, and `resnet-models.tar.xz`. Both unpack into the same folder.
 */
export function pack(out: string, models: string, parts: readonly string[] = PARTS): void {
  const staging = path.join(out, 'staging');
  fs.rmSync(staging, { recursive: true, force: true });
  fs.mkdirSync(staging, { recursive: true });
  try {
    if (parts.includes('code')) packCode(out, path.join(staging, 'code'));
    if (parts.includes('models')) packModels(out, path.join(staging, 'models'), models);
  } finally {
    fs.rmSync(staging, { recursive: true, force: true });
  }
}

function packCode(out: string, folder: string): void {
  for (const file of [...codeFiles(), ...modulesOf('tftrt')]) copy(packageRoot, file, folder);
  // The binding is found by its path, not loaded by the name of a module.
  for (const file of [...modulesOf('peer'), ...peerBinding()])
    copy(cacheDir(), file, path.join(folder, CACHE));
  archive(out, 'resnet-code', folder, ['preset=6']);
}

/**
 * The weights are there twice, in two formats: a window over both makes the second copy cost next to nothing. They are
 * floats, aligned to 4 bytes, which lp and lc tell the compressor.
 */
function packModels(out: string, folder: string, models: string): void {
  fs.cpSync(models, path.join(folder, 'models', 'resnet50'), { recursive: true });
  archive(out, 'resnet-models', folder, ['preset=1', 'dict=256MiB', 'lc=2', 'lp=2']);
}

/** Files of the project, relative to it: all that is compiled, without what only developers read. */
function codeFiles(): string[] {
  const compiled = FOLDERS.flatMap((folder) =>
    fs
      .readdirSync(path.join(packageRoot, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.js'))
      .map((file) => path.join(folder, file)),
  );
  const addons = ['tftrt', 'tftrt_loader'].map((name) => path.join('build', 'Release', `${name}.node`));
  const tensorRtNames = path.join('build', 'Release', 'libtftrt_tensorrt.so');
  return ['package.json', ...addons, tensorRtNames, ...compiled];
}

/** Files of node_modules that a side loads, with the package.json of each package; relative to the project or the cache. */
function modulesOf(side: 'tftrt' | 'peer'): string[] {
  const root = side === 'tftrt' ? packageRoot : cacheDir();
  // Links lead out of the folder (node_modules may be one): what is copied must lie in it.
  const real = side === 'tftrt' ? fs.realpathSync(path.join(packageRoot, 'node_modules')) : peerFolder();
  const base = side === 'tftrt' ? path.join(packageRoot, 'node_modules') : peerFolder();
  const output = execFileSync(process.execPath, [path.join(__dirname, 'modules.js'), side], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const files = (JSON.parse(output.trim().split('\n').pop()!) as string[])
    .filter((file) => file.startsWith(`${real}${path.sep}`))
    .map((file) => path.relative(real, file));
  const manifests = new Set(files.flatMap((file) => packageJsonsAbove(real, file)));
  return [...new Set([...files, ...manifests])].map((file) => path.relative(root, path.join(base, file)));
}

/** The package.json files of the folders that a file lies in: Node looks at them to find modules. */
function packageJsonsAbove(root: string, file: string): string[] {
  const found: string[] = [];
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    const manifest = path.join(folder, 'package.json');
    if (fs.existsSync(path.join(root, manifest))) found.push(manifest);
    if (folder === '.') return found;
  }
}

/** The peer's binding and its package.json, relative to the cache. */
function peerBinding(): string[] {
  const inside = path.join(peerFolder(), 'node_modules', '@tensorflow', 'tfjs-node-gpu', 'lib');
  return fs
    .readdirSync(inside, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.node'))
    .map((file) => path.relative(cacheDir(), path.join(inside, file)))
    .concat(path.relative(cacheDir(), path.join(peerFolder(), 'package.json')));
}

function copy(root: string, file: string, to: string): void {
  const target = path.join(to, file);
  fs.mkdirSync(path.dirname(target), { recursive: true });
  fs.copyFileSync(path.join(root, file), target);
}

/** Writes `<name>.tar.xz`, in parts if it is too large for one transfer, and prints the sizes. */
function archive(out: string, name: string, folder: string, lzma: readonly string[]): void {
  const file = path.join(out, `${name}.tar.xz`);
  for (const old of fs.readdirSync(out).filter((one) => one.startsWith(`${name}.tar.xz`)))
    fs.rmSync(path.join(out, old));
  const entries = fs.readdirSync(folder).sort();
  execFileSync(
    'tar',
    [
      '--sort=name',
      '-C',
      folder,
      '-cf',
      file,
      `--use-compress-program=xz --lzma2=${lzma.join(',')}`,
      ...entries,
    ],
    { stdio: 'inherit' },
  );
  const { size } = fs.statSync(file);
  if (size > PART_BYTES) {
    execFileSync('split', ['-b', String(PART_BYTES), '-d', file, `${file}.`]);
    fs.rmSync(file);
  }
  for (const made of fs.readdirSync(out).filter((one) => one.startsWith(`${name}.tar.xz`)))
    console.log(
      `${path.join(out, made)}: ${(fs.statSync(path.join(out, made)).size / 2 ** 20).toFixed(1)} MiB`,
    );
}
