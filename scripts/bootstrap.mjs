// Every npm script starts here, in a checkout where nothing may be installed yet: brings what is missing and is quick
// when nothing is. Plain JavaScript with Node's own modules only; what follows the compiler is in src/setup/.

import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
/** Folders with TypeScript sources, and where tsc writes what it makes of them (see tsconfig.json, tsconfig.dev.json). */
const sourceFolders = [
  { sources: 'src', output: 'dist' },
  ...['test', 'benchmarks', 'demo', 'scripts'].map((folder) => ({
    sources: folder,
    output: `dist-dev/${folder}`,
  })),
];

/** Ends the process with a message that says what failed and what to do. */
function fail(message) {
  console.error(`\ntftrt: ${message}`);
  process.exit(1);
}

function onPath(program) {
  return (process.env.PATH ?? '').split(path.delimiter).some((folder) => {
    try {
      fs.accessSync(path.join(folder, program), fs.constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** pip's version, or null without pip. */
function pipVersion() {
  try {
    return execFileSync('python3', ['-c', 'import pip; print(pip.__version__)'], {
      encoding: 'utf8',
      stdio: 'pipe',
    });
  } catch {
    return null;
  }
}

/** Checks what the user has to install: all of it at once, so that nobody has to come back five times. */
function checkMachine() {
  const missing = [];
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    fail(
      `needs Linux on x86-64, as TensorFlow's libraries do; this is ${process.platform} on ${process.arch}.`,
    );
  }
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    missing.push({ what: `Node.js 20.19 or later (this is ${process.versions.node})`, packages: [] });
  }
  if (!onPath('python3')) {
    missing.push({ what: 'Python 3 with pip (python3)', packages: ['python3', 'python3-pip'] });
  } else {
    const pip = pipVersion();
    if (pip === null) missing.push({ what: 'pip for python3', packages: ['python3-pip'] });
    else if (Number.parseInt(pip, 10) < 21) {
      missing.push({
        what: `pip 21 or later (this is ${pip.trim()}; python3 -m pip install --upgrade pip)`,
        packages: [],
      });
    }
  }
  if (!onPath('g++')) missing.push({ what: 'a C++ compiler (g++)', packages: ['g++'] });
  if (!onPath('cmake')) missing.push({ what: 'CMake (cmake)', packages: ['cmake'] });
  if (!onPath('make') && !onPath('ninja')) missing.push({ what: 'make or ninja', packages: ['make'] });
  if (missing.length === 0) return;
  const packages = missing.flatMap((item) => item.packages);
  fail(
    `this machine lacks:\n${missing.map((item) => `  - ${item.what}\n`).join('')}` +
      (packages.length > 0 ? `On Debian or Ubuntu: apt-get install ${packages.join(' ')}\n` : '') +
      'Then run the same command again.',
  );
}

/** Runs a program of node_modules or npm; its output is the user's to see. */
function run(what, command, args) {
  const { status, signal, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] });
  if (status === 0) return;
  const how = error?.message ?? (signal ? `killed by ${signal}` : `exit code ${status}`);
  fail(
    `${what} failed (${how}): ${command} ${args.join(' ')}\nThe lines above say why. Mend that, then run the same command again.`,
  );
}

/** Whether node_modules holds what package-lock.json asks for, by the list that npm keeps of what it installed. */
function npmPackagesAreCurrent() {
  const read = (file) => JSON.parse(fs.readFileSync(path.join(root, file), 'utf8')).packages;
  let installed;
  try {
    installed = read('node_modules/.package-lock.json');
  } catch {
    return false;
  }
  return Object.entries(read('package-lock.json')).every(([name, wanted]) => {
    const found = installed[name];
    return (
      name === '' ||
      (found ? found.version === wanted.version && found.integrity === wanted.integrity : wanted.optional)
    );
  });
}

function installNpmPackages() {
  if (npmPackagesAreCurrent()) return;
  console.error('tftrt: installing npm packages (usually less than a minute)');
  run('Installing the npm packages', 'npm', ['ci', '--include=dev', '--no-audit', '--no-fund']);
}

function filesUnder(folder) {
  if (!fs.existsSync(path.join(root, folder))) return [];
  return fs
    .readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .sort();
}

/** Removes what was compiled from sources that are gone: it would still be found by imports, and tests would still run. */
function removeOrphans() {
  for (const { sources, output } of sourceFolders) {
    for (const file of filesUnder(output)) {
      const stem = /^(.*?)(\.d\.ts|\.js|\.js\.map)$/.exec(path.relative(output, file))?.[1];
      if (stem && !fs.existsSync(path.join(root, sources, `${stem}.ts`))) fs.rmSync(path.join(root, file));
    }
  }
}

/** Has everything compiled anew after a change of the options: tsc keeps errors that it found under the old ones. */
function forgetOldConfiguration() {
  const time = (file) => fs.statSync(path.join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const changed = Math.max(time('tsconfig.json'), time('tsconfig.dev.json'));
  for (const file of ['dist/.tsbuildinfo', 'dist-dev/.tsbuildinfo']) {
    if (time(file) < changed) fs.rmSync(path.join(root, file), { force: true });
  }
}

/** Compiles the TypeScript sources. tsc alone takes over a second to find nothing to do, hence the stamp. */
function compile() {
  const inputs = sourceFolders.flatMap(({ sources }) =>
    filesUnder(sources).filter((file) => file.endsWith('.ts')),
  );
  const hash = createHash('sha256');
  for (const file of [
    ...inputs,
    'tsconfig.json',
    'tsconfig.dev.json',
    'package.json',
    'node_modules/.package-lock.json',
  ]) {
    const { mtimeMs, size } = fs.statSync(path.join(root, file));
    hash.update(`${file} ${mtimeMs} ${size}\n`);
  }
  const stamp = hash.digest('hex');
  const stampFile = path.join(root, 'dist-dev/.inputs');
  const isCurrent =
    fs.existsSync(path.join(root, 'dist/.tsbuildinfo')) &&
    fs.existsSync(stampFile) &&
    fs.readFileSync(stampFile, 'utf8') === stamp;
  if (isCurrent) return;
  console.error('tftrt: compiling TypeScript (usually 5 to 15 seconds)');
  removeOrphans();
  forgetOldConfiguration();
  run('Compiling the TypeScript sources', process.execPath, [
    'node_modules/typescript/bin/tsc',
    '-b',
    'tsconfig.dev.json',
  ]);
  fs.chmodSync(path.join(root, 'dist/cli/main.js'), 0o755); // the command tftrt
  fs.writeFileSync(stampFile, stamp);
}

if (process.argv.slice(2).some((argument) => ['--help', '-h'].includes(argument))) {
  console.log(`usage: npm run setup [-- --gpu | --from FOLDER]

Brings all that this checkout needs to run: npm's packages, TensorFlow, the addon and, where a GPU is or with --gpu, CUDA and
TensorRT. With --from, links the libraries that FOLDER has (a site-packages, NVIDIA's packages or a flat folder) instead.`);
  process.exit(0);
}
checkMachine();
installNpmPackages();
compile();
const { setUp } = createRequire(import.meta.url)('../dist/setup/main.js');
await setUp(process.argv.slice(2));
