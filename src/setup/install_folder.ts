import fs from 'node:fs';
import path from 'node:path';
import { withLock } from './lock';
import { makeFolder } from './make_folder';
import { report } from './run_step';

/** A folder that set-up fills. */
export interface FolderInstallation {
  /** Made by this installation. Whatever was there before is replaced. */
  readonly folder: string;
  /** What is done, as in "installing X". */
  readonly title: string;
  /** Whether the folder holds a whole installation: then nothing is done. */
  isWhole(): boolean;
}

/**
 * Fills a folder, unless it is whole. It appears at once, by a rename: a process that is stopped half-way leaves only a
 * `.partial` folder, which the next installation removes. Several processes may do this at the same time; one installs,
 * the others wait for it.
 *
 * @param fill makes the new content somewhere in the empty folder it is given, and returns where.
 */
export async function installFolder(
  installation: FolderInstallation,
  fill: (partial: string) => Promise<string>,
): Promise<void> {
  const { folder } = installation;
  if (installation.isWhole()) return;
  const waiting = () => report(`waiting for another process that is ${installation.title}`);
  await withLock(`${folder}.lock`, waiting, async () => {
    if (installation.isWhole()) return;
    removePartialFolders(folder);
    const partial = makePartialFolder(folder);
    try {
      replaceFolder(folder, await fill(partial), partial);
    } finally {
      fs.rmSync(partial, { recursive: true, force: true });
    }
  });
}

/** An empty folder beside another, on the same file system. */
export function makePartialFolder(folder: string): string {
  makeFolder(path.dirname(folder));
  return fs.mkdtempSync(`${folder}.partial-`);
}

/**
 * Puts `content` in the place of `folder`, whose old content ends in `partial`, to be removed with it. Other processes may do
 * the same without a lock: one that finds `isDone` leaves what is there.
 */
export function replaceFolder(
  folder: string,
  content: string,
  partial: string,
  isDone: () => boolean = () => false,
): void {
  for (let attempt = 0; !renameUnlessThere(content, folder); attempt++) {
    if (isDone()) return;
    // Only in a race is there another attempt.
    renameIfThere(folder, path.join(partial, `old-${attempt}`));
  }
}

/** Returns false where the new name is taken by a folder that is not empty, a link or a file. */
function renameUnlessThere(from: string, to: string): boolean {
  try {
    fs.renameSync(from, to);
    return true;
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code!)) throw error;
    return false;
  }
}

function renameIfThere(from: string, to: string): void {
  try {
    fs.renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

function removePartialFolders(folder: string): void {
  const parent = path.dirname(folder);
  for (const name of fs.readdirSync(parent)) {
    if (name.startsWith(`${path.basename(folder)}.partial-`))
      fs.rmSync(path.join(parent, name), { recursive: true, force: true });
  }
}
