import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { cacheDir } from '#src/setup/paths';
import { installWithPip } from '#src/setup/pip';

/** Pinned: another version of clang-format breaks lines elsewhere. */
const CLANG_FORMAT_VERSION = '23.1.5';

/** Checks the format of the native sources, or with `fix` puts it right. Returns whether all is well. */
export async function lintNative(root: string, fix: boolean): Promise<boolean> {
  const files = ['native', 'test/addon'].flatMap((folder) =>
    fs
      .readdirSync(path.join(root, folder))
      .filter((file) => /\.(cc|h)$/.test(file))
      .map((file) => path.join(folder, file)),
  );
  const options = fix ? ['-i'] : ['--dry-run', '--Werror', '--ferror-limit=1'];
  const { status } = spawnSync(await clangFormat(), [...options, ...files], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return status === 0;
}

/** The path of clang-format, which is installed from PyPI if it is not in the cache yet. */
async function clangFormat(): Promise<string> {
  const folder = path.join(cacheDir(), `clang-format-${CLANG_FORMAT_VERSION}`);
  const program = path.join(folder, 'clang_format/data/bin/clang-format');
  await installWithPip({
    requirements: [`clang-format==${CLANG_FORMAT_VERSION}`],
    folder,
    title: `installing clang-format ${CLANG_FORMAT_VERSION}`,
    usually: 'a few seconds',
    isWhole: () => fs.existsSync(program),
  });
  return program;
}
