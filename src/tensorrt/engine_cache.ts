import { createHash, randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { makeFolder } from '../setup/make_folder';
import { cacheDir } from '../setup/paths';

/** Changes when what is in an entry does. */
const FORMAT = 1;
const MANIFEST = 'manifest.json';

interface Manifest {
  readonly format: number;
  readonly key: string;
  /** What the builder said of the engines. */
  readonly content: unknown;
  readonly files: Readonly<Record<string, { readonly bytes: number; readonly sha256: string }>>;
}

/** An entry that was checked: its folder and what the builder said of it. */
export interface CachedEngines {
  readonly directory: string;
  readonly content: unknown;
}

/** Where engines are kept: in the folder `engines` of the cache. */
export function engineCacheDir(): string {
  return path.join(cacheDir(), 'engines');
}

/** The name of the entry for engines that depend on nothing but `parts`. */
export function engineKey(parts: Readonly<Record<string, unknown>>): string {
  return createHash('sha256')
    .update(JSON.stringify({ format: FORMAT, ...parts }))
    .digest('hex')
    .slice(0, 40);
}

/**
 * The entry of that name, if it is there and whole. One that is damaged, from another version or somebody else's is removed:
 * engines are code.
 */
export async function findEngines(key: string): Promise<CachedEngines | undefined> {
  const directory = path.join(engineCacheDir(), key);
  let manifest: Manifest;
  try {
    requireOwn(engineCacheDir());
    requireOwn(directory);
    manifest = JSON.parse(await fs.promises.readFile(path.join(directory, MANIFEST), 'utf8'));
    if (manifest.format !== FORMAT || manifest.key !== key) throw new Error('of another format');
    if (Object.keys(manifest.files).length === 0) throw new Error('empty');
    for (const [name, { bytes, sha256 }] of Object.entries(manifest.files)) {
      const file = path.join(directory, path.basename(name));
      if (fs.statSync(file).size !== bytes || (await hashOf(file)) !== sha256)
        throw new Error(`${name} is damaged`);
    }
  } catch {
    // Where it cannot be removed it stays, and is not used.
    await fs.promises.rm(directory, { recursive: true, force: true }).catch(() => undefined);
    return undefined;
  }
  const now = new Date();
  // The time of the last use decides what goes first when the cache is full.
  await fs.promises.utimes(directory, now, now).catch(() => undefined);
  return { directory, content: manifest.content };
}

/** Throws for a folder that others may write to: what is in it is run. */
function requireOwn(folder: string): void {
  const { uid, mode } = fs.statSync(folder);
  if (uid !== process.getuid!() || (mode & 0o022) !== 0) throw new Error(`${folder} is open to others`);
}

/** Removes an entry that TensorFlow would not load. */
export function forgetEngines(key: string): void {
  fs.rmSync(path.join(engineCacheDir(), key), { recursive: true, force: true });
}

/** A new folder for the builder to fill: in the cache, or where that cannot be written, among the system's temporary files. */
export function newEngineFolder(key: string): { folder: string; inCache: boolean } {
  const name = `.${key}.${randomUUID()}.part`;
  try {
    const folder = path.join(engineCacheDir(), name);
    makeFolder(folder, 0o700);
    return { folder, inCache: true };
  } catch {
    const folder = path.join(os.tmpdir(), `tftrt-engines${name}`);
    fs.mkdirSync(folder, { mode: 0o700 });
    return { folder, inCache: false };
  }
}

/**
 * Makes a filled folder the entry of that name, at once and whole; then sees to the cache's size. Returns undefined where that
 * cannot be done: the folder is then still there.
 */
export async function keepEngines(
  key: string,
  folder: string,
  content: unknown,
  limitBytes: number,
): Promise<CachedEngines | undefined> {
  const directory = path.join(engineCacheDir(), key);
  try {
    await writeManifest(key, folder, content);
    fs.renameSync(folder, directory);
  } catch {
    // Another process was faster, or a broken entry is in the way: the one that is whole stays.
    const other = await findEngines(key);
    if (other !== undefined) {
      fs.rmSync(folder, { recursive: true, force: true });
      return other;
    }
    try {
      fs.renameSync(folder, directory);
    } catch {
      return undefined;
    }
  }
  try {
    limitCache(limitBytes, key);
  } catch {
    // Others may trim it at the same time, or own what is in it: the engines are kept all the same.
  }
  return { directory, content };
}

async function writeManifest(key: string, folder: string, content: unknown): Promise<void> {
  const files: Record<string, { bytes: number; sha256: string }> = {};
  for (const name of fs.readdirSync(folder)) {
    const file = path.join(folder, name);
    files[name] = { bytes: fs.statSync(file).size, sha256: await hashOf(file) };
  }
  const manifest: Manifest = { format: FORMAT, key, content, files };
  fs.writeFileSync(path.join(folder, MANIFEST), JSON.stringify(manifest));
}

/** Removes all kept engines. Those that are in use stay in memory. */
export function clearEngineCache(): void {
  fs.rmSync(engineCacheDir(), { recursive: true, force: true });
}

/** Removes the entries whose last use is longest ago, until the rest fits; and what builds that were broken off left. */
function limitCache(limitBytes: number, newest: string): void {
  const day = 24 * 3600 * 1000;
  const entries = fs
    .readdirSync(engineCacheDir())
    .flatMap((name) => entryOf(path.join(engineCacheDir(), name)) ?? []);
  entries.sort((a, b) => b.usedMs - a.usedMs);
  let total = 0;
  for (const { directory, usedMs, bytes } of entries) {
    const partial = directory.endsWith('.part');
    total += bytes;
    const gone = partial ? Date.now() - usedMs > day : total > limitBytes;
    if (gone && path.basename(directory) !== newest) {
      fs.rmSync(directory, { recursive: true, force: true });
    }
  }
}

/** Size and last use; undefined for what another process takes away just now, and for what is no folder. */
function entryOf(directory: string): { directory: string; usedMs: number; bytes: number } | undefined {
  try {
    const bytes = fs
      .readdirSync(directory)
      .reduce((sum, name) => sum + fs.statSync(path.join(directory, name)).size, 0);
    return { directory, usedMs: fs.statSync(directory).mtimeMs, bytes };
  } catch {
    return undefined;
  }
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of fs.createReadStream(file, { highWaterMark: 1 << 20 }))
    hash.update(piece as Buffer);
  return hash.digest('hex');
}
