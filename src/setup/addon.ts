import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ADDON_RECORD, neededAddon } from './addon_record';
import { TENSORRT_NAMES } from './gpu_libraries';
import { withLock } from './lock';
import { packageRoot, type TensorFlowInstallation } from './paths';
import { report, runStep } from './run_step';
import { damageOf } from './shared_library';

/** The addon's files, in `<build folder>/Release`. The npm package has them too: `files` of package.json. */
export const ADDON_FILES: readonly string[] = [
  'tftrt.node',
  'tftrt_loader.node',
  TENSORRT_NAMES,
  ADDON_RECORD,
];

/** An addon for tests: in a checkout, not in the package. */
const TEST_SOURCES = 'test/addon';

/** How to build: the plain addon goes to build/, one with AddressSanitizer to build-asan/. */
export interface AddonOptions {
  readonly sanitize?: 'address';
}

/** The folder an addon is built in. */
export function addonBuildDir({ sanitize }: AddonOptions = {}): string {
  return path.join(packageRoot, sanitize ? 'build-asan' : 'build');
}

/** Builds the addon with CMake, unless what is there was built from the same sources in the same way. */
export async function ensureAddon(
  tensorflow: TensorFlowInstallation,
  options: AddonOptions = {},
): Promise<void> {
  const buildDir = addonBuildDir(options);
  const inRelease = (file: string) => path.join(buildDir, 'Release', file);
  const stampFile = path.join(buildDir, 'tftrt-stamp.json');
  const configuration = hashOfConfiguration(tensorflow, options);
  const record = neededAddon();
  const stamp = { configuration, sources: hashOfSources(), record };
  const isCurrent = () =>
    isDeepStrictEqual(readStamp(stampFile), stamp) &&
    ADDON_FILES.every((file) => isWholeAddonFile(inRelease(file)));

  if (isCurrent()) return;
  const lock = path.join(buildDir, 'tftrt.lock');
  await withLock(
    lock,
    () => report('waiting for another process that is building the addon'),
    async () => {
      if (isCurrent()) return;
      // CMake does not notice a TensorFlow or a checkout that moved: start anew.
      if (readStamp(stampFile).configuration !== configuration) removeAllBut(buildDir, lock);
      // CMake takes what is there, and newer than the sources, for what it made.
      for (const file of ADDON_FILES.map(inRelease))
        if (!isWholeAddonFile(file)) fs.rmSync(file, { force: true });
      // Known before the build is done: after a compiler error, only what changed is compiled again.
      fs.writeFileSync(stampFile, JSON.stringify({ configuration }));
      // A file that includes TensorFlow's headers takes about 1 GB of memory to compile.
      const compilers = Math.max(1, Math.min(os.availableParallelism(), Math.floor(os.totalmem() / 1.5e9)));
      await runStep({
        title: options.sanitize
          ? `building the addon with the ${options.sanitize} sanitizer`
          : 'building the addon',
        usually: '1 to 3 minutes',
        command: process.execPath,
        args: [
          require.resolve('cmake-js/bin/cmake-js', { paths: [packageRoot] }),
          'build',
          '--log-level=warn',
          `--out=${buildDir}`,
          `--parallel=${compilers}`,
          `--CDTFTRT_TENSORFLOW_DIR=${tensorflow.directory}`,
          `--CDTFTRT_SANITIZE=${options.sanitize ?? ''}`,
        ],
        cwd: packageRoot,
        errorCode: 'TFTRT_SETUP_BUILD',
        remedy: `If it is not clear what to do, remove ${buildDir} and run the same command again.`,
      });
      fs.writeFileSync(inRelease(ADDON_RECORD), `${JSON.stringify(record)}\n`);
      fs.writeFileSync(stampFile, JSON.stringify(stamp));
    },
  );
}

/** Whether one of the addon's files is there and, where that shows, not damaged. */
export function isWholeAddonFile(file: string): boolean {
  return /\.(node|so)$/.test(file) ? damageOf(file) === null : fs.existsSync(file);
}

/** What makes the whole build folder useless when it changes. */
function hashOfConfiguration(tensorflow: TensorFlowInstallation, options: AddonOptions): string {
  const version = (name: string): string => require(`${name}/package.json`).version;
  return hash([
    packageRoot,
    tensorflow.directory,
    tensorflow.version,
    options.sanitize,
    version('cmake-js'),
    version('node-addon-api'),
    process.env.CXX,
    process.env.CXXFLAGS,
  ]);
}

function hashOfSources(): string {
  const files = ['CMakeLists.txt', ...['cmake', 'native', TEST_SOURCES].flatMap(filesIn)];
  return hash(files.map((file) => [file, fs.readFileSync(path.join(packageRoot, file), 'utf8')]));
}

function filesIn(folder: string): string[] {
  const directory = path.join(packageRoot, folder);
  if (folder === TEST_SOURCES && !fs.existsSync(directory)) return [];
  return fs
    .readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(packageRoot, path.join(entry.parentPath, entry.name)))
    .sort();
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

function readStamp(file: string): { configuration?: string; sources?: string } {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}

function removeAllBut(folder: string, kept: string): void {
  for (const name of fs.readdirSync(folder)) {
    const entry = path.join(folder, name);
    if (entry !== kept) fs.rmSync(entry, { recursive: true, force: true });
  }
}
