import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { withLock } from '#src/setup/lock';
import { cacheDir, locateTensorFlow, packageRoot } from '#src/setup/paths';
import { report, runStep } from '#src/setup/run_step';

const PACKAGE = '@tensorflow/tfjs-node-gpu';
const VERSION = '4.22.0';
/** The newest N-API version that the peer's package names: where it looks for its binding. */
const NAPI_VERSION = 8;

/** The folder in the cache that holds the peer's node_modules. */
export function peerFolder(): string {
  return path.join(cacheDir(), `peer-${VERSION}`);
}

/**
 * Installs the peer if it is missing: its JavaScript from npm, as published, and its binding compiled from the sources
 * in its package against the TensorFlow that this project uses. Both sides then differ in nothing but themselves.
 */
export async function ensurePeer(): Promise<void> {
  const folder = peerFolder();
  await withLock(
    `${folder}.lock`,
    () => report('waiting for another process that installs the peer'),
    async () => {
      if (!fs.existsSync(folder)) await installPackages(folder);
      await buildBinding(path.join(folder, 'node_modules', PACKAGE));
    },
  );
}

async function installPackages(folder: string): Promise<void> {
  await replaceWhole(folder, async (temporary) => {
    for (const file of ['package.json', 'package-lock.json'])
      fs.copyFileSync(path.join(packageRoot, 'benchmarks', 'peer', file), path.join(temporary, file));
    await runStep({
      title: `installing the benchmarks' peer, ${PACKAGE} ${VERSION}`,
      usually: '10 to 60 seconds',
      command: 'npm',
      args: ['ci', '--ignore-scripts', '--no-audit', '--no-fund'],
      cwd: temporary,
      errorCode: 'TFTRT_PEER_INSTALL_FAILED',
      remedy: 'npm needs its registry once for this; then run the benchmarks again.',
    });
  });
}

/** A note beside the binding says which TensorFlow it is linked to: another one means to compile it again. */
async function buildBinding(peer: string): Promise<void> {
  const tensorflow = locateTensorFlow('build');
  const output = path.join(peer, 'lib', `napi-v${NAPI_VERSION}`);
  const note = 'linked_to.txt';
  const noteFile = path.join(output, note);
  if (fs.existsSync(noteFile) && fs.readFileSync(noteFile, 'utf8') === tensorflow.directory) return;

  const { framework, cc } = tensorflow.libraries;
  await replaceWhole(output, async (temporary) => {
    await runStep({
      title: "compiling the peer's binding",
      usually: '10 to 30 seconds',
      command: process.env.CXX ?? 'g++',
      args: [
        ...['-std=c++17', '-shared', '-fPIC', '-O2', '-DBUILDING_NODE_EXTENSION'],
        ...[`-DNAPI_VERSION=${NAPI_VERSION}`, '-DNODE_GYP_MODULE_NAME=tfjs_binding'],
        ...[peer, tensorflow.includeDir, nodeHeaders()].map((include) => `-I${include}`),
        ...['tfjs_backend.cc', 'tfjs_binding.cc'].map((file) => path.join(peer, 'binding', file)),
        ...[cc, framework, `-Wl,-rpath,${tensorflow.directory}`],
        ...['-o', path.join(temporary, 'tfjs_binding.node')],
      ],
      errorCode: 'TFTRT_PEER_BUILD_FAILED',
      remedy: 'It needs a C++17 compiler: g++, or the one that CXX names.',
    });
    fs.writeFileSync(path.join(temporary, note), tensorflow.directory);
  });
}

/** Makes a folder's content beside it, so that the folder itself is complete or not there at all. */
async function replaceWhole(folder: string, make: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${folder}.part`;
  fs.rmSync(temporary, { recursive: true, force: true });
  fs.mkdirSync(temporary, { recursive: true });
  await make(temporary);
  fs.rmSync(folder, { recursive: true, force: true });
  fs.renameSync(temporary, folder);
}

/** The N-API headers that cmake-js brings for this project's own addon. */
function nodeHeaders(): string {
  const cmakeJs = createRequire(require.resolve('cmake-js/package.json'));
  return (cmakeJs('node-api-headers') as { include_dir: string }).include_dir;
}
