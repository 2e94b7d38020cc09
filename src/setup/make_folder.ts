import fs from 'node:fs';
import path from 'node:path';
import { TftrtError } from '../errors';
import { cacheDir } from './paths';

/**
 * Makes a folder and those that it is in, one level at a time: Node's recursive mkdir never returns where a folder exists that
 * takes none, such as /proc. Throws `TFTRT_FOLDER`. `mode` is that of each folder that is made.
 */
export function makeFolder(folder: string, mode?: number): void {
  const missing: string[] = [];
  let existing = path.resolve(folder);
  while (!fs.existsSync(existing) && existing !== path.dirname(existing)) {
    missing.unshift(existing);
    existing = path.dirname(existing);
  }
  try {
    for (const next of missing) makeOne(next, mode);
    if (!isFolder(folder)) throw new Error(`${path.resolve(folder)} is a file`);
  } catch (cause) {
    throw new TftrtError('TFTRT_FOLDER', `${describe(folder, cause as Error)} ${remedyFor(folder)}`, {
      cause,
    });
  }
}

/** Another process may make the same one. */
function makeOne(folder: string, mode?: number): void {
  try {
    fs.mkdirSync(folder, { mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isFolder(folder)) throw error;
  }
}

function isFolder(name: string): boolean {
  return fs.statSync(name, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function describe(folder: string, { code, path: place, message }: NodeJS.ErrnoException): string {
  // The system's words would have it that a folder is missing, and it is there.
  const reason = code === 'ENOENT' && place ? `${path.dirname(place)} takes no new folders` : message;
  return `The folder ${folder} cannot be made: ${reason}.`;
}

/** What to do about a file or folder that cannot be made. */
export function remedyFor(name: string): string {
  const inCache = `${path.resolve(name)}${path.sep}`.startsWith(cacheDir() + path.sep);
  return inCache
    ? 'TFTRT_CACHE_DIR names another folder for what is installed, one that you may write to.'
    : 'Name a folder that is there, or that can be made, and that you may write to.';
}
