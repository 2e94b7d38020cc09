import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { packageRoot } from '#src/setup/paths';

export interface Pack {
  /** The tarball. */
  readonly file: string;
  readonly bytes: number;
  /** The paths in it. */
  readonly files: readonly string[];
}

/** `npm pack`, as `npm run package` does after set-up. */
export function pack(destination: string): Pack {
  const args = ['pack', '--json', '--ignore-scripts', `--pack-destination=${destination}`];
  const [{ filename, size, files }] = JSON.parse(
    execFileSync('npm', args, { cwd: packageRoot, encoding: 'utf8', stdio: 'pipe' }),
  );
  return {
    file: path.join(destination, filename),
    bytes: size,
    files: files.map((file: { path: string }) => file.path),
  };
}
