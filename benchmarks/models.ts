import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { withLock } from '#src/setup/lock';
import { cacheDir, packageRoot } from '#src/setup/paths';
import { report, runStep } from '#src/setup/run_step';
import type { Models } from './types';

const SCRIPT = path.join(packageRoot, 'benchmarks', 'models', 'make_models.py');
const GENERATOR = path.join(packageRoot, 'test', 'fixtures');
const RESNET_SCRIPT = path.join(packageRoot, 'benchmarks', 'models', 'resnet50.py');
/** What the models depend on: when one of these changes, they are made anew. */
const SOURCES = [
  SCRIPT,
  path.join(GENERATOR, 'generator', 'convert.py'),
  path.join(GENERATOR, 'requirements.txt'),
  path.join(GENERATOR, 'requirements-no-deps.txt'),
];

/** Makes the models of the benchmarks in the cache, unless they are there, and says where they are. */
export async function ensureBenchModels(): Promise<Models> {
  const folder = await ensureModels('bench', SOURCES, []);
  const inside = (model: string, format: string) => path.join(folder, model, format);
  return {
    mobilenetSavedModel: inside('mobilenet_v2', 'saved_model'),
    mobilenetGraphModel: inside('mobilenet_v2', 'graph_model'),
    oneOpGraphModel: inside('one_op', 'graph_model'),
    slowGraphModel: inside('slow', 'graph_model'),
  };
}

/** Makes the ResNet-50 in the cache, unless it is there; returns its folder (see models/resnet50.py). */
export async function ensureResnet(): Promise<string> {
  const folder = await ensureModels('resnet', [...SOURCES, RESNET_SCRIPT], ['--model', 'resnet50']);
  return path.join(folder, 'resnet50');
}

async function ensureModels(name: string, sources: readonly string[], args: readonly string[]) {
  const folder = path.join(cacheDir(), 'models', `${name}-${hashOf(sources)}`);
  if (!fs.existsSync(folder)) {
    const title = 'making the models of the benchmarks';
    const waiting = () => report(`waiting for another process that is ${title}`);
    await withLock(path.join(cacheDir(), 'models', 'bench.lock'), waiting, async () => {
      if (!fs.existsSync(folder)) await makeModels(title, folder, args);
    });
  }
  return folder;
}

/** Runs the script; the folder appears whole, by a rename. */
async function makeModels(title: string, folder: string, args: readonly string[]): Promise<void> {
  const partial = `${folder}.partial`; // alone here, thanks to the lock
  fs.rmSync(partial, { recursive: true, force: true });
  try {
    await runStep({
      title: `${title}, in a Python environment of their own (600 MB to download, 2 GB on disk, the first time)`,
      usually: '1 to 4 minutes, 30 seconds with the environment there',
      command: 'python3',
      args: [SCRIPT, partial, '--venv', path.join(cacheDir(), 'bench-venv'), ...args],
      errorCode: 'TFTRT_BENCH_MODELS',
      remedy:
        'Python 3.9 to 3.12 with the venv module and pip is needed. Check that, the network and the free space, then run the same command again.',
    });
    fs.renameSync(partial, folder);
  } finally {
    fs.rmSync(partial, { recursive: true, force: true });
  }
}

function hashOf(files: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of files) hash.update(fs.readFileSync(file));
  return hash.digest('hex').slice(0, 12);
}
