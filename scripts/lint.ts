import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { lintNative } from './lint_native';

const root = path.resolve(__dirname, '..', '..');

/** A check of the sources. */
export interface Check {
  readonly name: string;
  readonly passed: boolean;
}

/** Checks lint rules and format of all sources, or with `fix` mends what can be mended. */
export async function lint(fix = false): Promise<Check[]> {
  const biome = spawnSync(
    process.execPath,
    [
      path.join(root, 'node_modules/@biomejs/biome/bin/biome'),
      'check',
      '--error-on-warnings',
      ...(fix ? ['--write'] : []),
      '.',
    ],
    { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] },
  );
  return [
    { name: 'TypeScript, JavaScript and JSON: lint and format (biome)', passed: biome.status === 0 },
    { name: 'C++: format (clang-format)', passed: await lintNative(root, fix) },
  ];
}

/** Prints how the checks went. */
export function printChecks(checks: readonly Check[]): void {
  for (const { name, passed } of checks) {
    console.log(passed ? `  ✔ ${name}` : `  ✘ ${name}: see above; \`npm run format\` mends format and more`);
  }
}

if (require.main === module) {
  lint(process.argv.includes('--fix')).then((checks) => {
    printChecks(checks);
    process.exitCode = checks.every(({ passed }) => passed) ? 0 : 1;
  });
}
