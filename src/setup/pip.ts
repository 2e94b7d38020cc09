import fs from 'node:fs';
import path from 'node:path';
import { withLock } from './lock';
import { report, runStep } from './run_step';

/** One package to be installed into a folder of its own. */
export interface PipInstallation {
  /** The package and its version, as in `tensorflow==2.17.1`. */
  readonly requirement: string;
  /** The folder, made by this installation. Whatever was there before is replaced. */
  readonly folder: string;
  readonly title: string;
  readonly usually: string;
  /** More options for pip. */
  readonly options?: readonly string[];
  /** Whether the folder holds a whole installation: then nothing is done. */
  isWhole(): boolean;
}

/** Settings of the user's that contradict `--target`, and questions and advice that nobody here would read. */
const PIP_ENVIRONMENT = {
  PIP_USER: '0',
  PIP_REQUIRE_VIRTUALENV: '0',
  PIP_NO_INPUT: '1',
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  PIP_ROOT_USER_ACTION: 'ignore',
};

/**
 * Installs a package with pip, unless it is there. The folder appears at once and whole, by a rename: a process that is
 * stopped half-way leaves only a `.partial` folder, which the next installation removes. Several processes may do this
 * at the same time; one installs, the others wait for it.
 */
export async function installWithPip(installation: PipInstallation): Promise<void> {
  const { folder } = installation;
  if (installation.isWhole()) return;
  const waiting = () => report(`waiting for another process that is ${installation.title}`);
  await withLock(`${folder}.lock`, waiting, async () => {
    if (installation.isWhole()) return;
    removePartialFolders(folder);
    const partial = fs.mkdtempSync(`${folder}.partial-`);
    try {
      // pip downloads and unpacks in TMPDIR, then moves: on the same file system that is a rename, and a small /tmp is no obstacle.
      const temporary = path.join(partial, 'tmp');
      const target = path.join(partial, 'target');
      fs.mkdirSync(temporary);
      await runStep({
        title: installation.title,
        usually: installation.usually,
        command: 'python3',
        args: [
          ...['-m', 'pip', 'install', '--target', target, '--no-deps', '--no-compile', '--no-cache-dir'],
          ...(installation.options ?? []),
          installation.requirement,
        ],
        env: { ...PIP_ENVIRONMENT, TMPDIR: temporary },
        errorCode: 'TFTRT_SETUP_PIP',
        remedy: `Check the network, pip's settings (\`python3 -m pip config list\`) and the free space in ${path.dirname(folder)}, then run the same command again.`,
      });
      if (fs.existsSync(folder)) fs.renameSync(folder, path.join(partial, 'damaged'));
      fs.renameSync(target, folder);
    } finally {
      fs.rmSync(partial, { recursive: true, force: true });
    }
  });
}

function removePartialFolders(folder: string): void {
  const parent = path.dirname(folder);
  for (const name of fs.readdirSync(parent)) {
    if (name.startsWith(`${path.basename(folder)}.partial-`))
      fs.rmSync(path.join(parent, name), { recursive: true, force: true });
  }
}
