import fs from 'node:fs';
import path from 'node:path';
import { type FolderInstallation, installFolder } from './install_folder';
import { runStep } from './run_step';

/** Packages to be installed into a folder of their own. */
export interface PipInstallation extends FolderInstallation {
  /** The packages and their versions, as in `tensorflow==2.17.1`. */
  readonly requirements: readonly string[];
  readonly usually: string;
  /** The folder within what pip installs that is wanted; all of it without. */
  readonly part?: string;
  /** More options for pip. */
  readonly options?: readonly string[];
}

/** Has pip take the packages for TensorFlow's wheel. Only C++ libraries are used, so the machine's Python may be of any version. */
export const WHEELS_FOR_TENSORFLOW: readonly string[] = [
  '--only-binary=:all:',
  '--python-version=3.11',
  '--platform=manylinux2014_x86_64',
  '--ignore-requires-python',
];

/** Settings of the user's that contradict `--target`, and questions and advice that nobody here would read. */
const PIP_ENVIRONMENT = {
  PIP_USER: '0',
  PIP_REQUIRE_VIRTUALENV: '0',
  PIP_NO_INPUT: '1',
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  PIP_ROOT_USER_ACTION: 'ignore',
};

/** Installs packages with pip, unless they are there. */
export async function installWithPip(installation: PipInstallation): Promise<void> {
  const { folder } = installation;
  await installFolder(installation, async (partial) => {
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
        ...installation.requirements,
      ],
      env: { ...PIP_ENVIRONMENT, TMPDIR: temporary },
      errorCode: 'TFTRT_SETUP_PIP',
      remedy: `Check that Python 3 has pip (on Debian or Ubuntu: apt-get install python3-pip), the network, pip's settings (\`python3 -m pip config list\`) and the free space in ${path.dirname(folder)}, then run the same command again.`,
    });
    return path.join(target, installation.part ?? '');
  });
}
