import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from '#src/setup/lock';
import { cacheDir, packageRoot } from '#src/setup/paths';
import { report, runStep } from '#src/setup/run_step';

const FOLDER = join(packageRoot, 'benchmarks', 'clients');
const FILES = ['package.json', 'package-lock.json'];

/** The packages of `package.json`, installed once in the cache: the folder that holds their node_modules. */
export async function ensureClients(): Promise<string> {
  const hash = createHash('sha256');
  for (const file of FILES) hash.update(readFileSync(join(FOLDER, file)));
  const folder = join(cacheDir(), `clients-${hash.digest('hex').slice(0, 12)}`);
  await withLock(
    `${folder}.lock`,
    () => report('waiting for another process that installs programs for tfjs-node'),
    async () => {
      if (existsSync(folder)) return;
      const partial = `${folder}.part`;
      rmSync(partial, { recursive: true, force: true });
      mkdirSync(partial, { recursive: true });
      for (const file of FILES) copyFileSync(join(FOLDER, file), join(partial, file));
      await runStep({
        title: 'installing programs for tfjs-node (170 MB)',
        usually: '10 to 60 seconds',
        command: 'npm',
        // Without the packages that theirs stand beside: each side has its own tfjs.
        args: ['ci', '--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund'],
        cwd: partial,
        errorCode: 'TFTRT_BENCH_INSTALL_FAILED',
        remedy: 'npm needs its registry once for this; then run the same command again.',
      });
      renameSync(partial, folder);
    },
  );
  return folder;
}
