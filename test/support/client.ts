import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { packageRoot } from '#src/setup/paths';
import { writeFile } from '../setup/helpers';

/** Makes a program's folder: its files, and beside them this package and those of tfjs. */
export function makeClient(folder: string, files: Readonly<Record<string, string>>): void {
  linkPackage(folder, 'tfjs-backend-tftrt', packageRoot);
  const installed = path.join(packageRoot, 'node_modules/@tensorflow');
  for (const name of fs.readdirSync(installed)) {
    linkPackage(folder, `@tensorflow/${name}`, path.join(installed, name));
  }
  for (const [name, text] of Object.entries(files)) writeFile(path.join(folder, name), text);
}

/** Installs a package in a program's folder, by a link. */
export function linkPackage(folder: string, name: string, target: string): void {
  const place = path.join(folder, 'node_modules', name);
  fs.mkdirSync(path.dirname(place), { recursive: true });
  fs.symlinkSync(target, place);
}

/** What Node prints when it runs with these arguments in a program's folder. */
export function runClient(folder: string, args: readonly string[]): string {
  const output = execFileSync(process.execPath, args, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return output.trim();
}
