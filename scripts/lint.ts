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
  const fixing = fix ? ['--write'] : [];
  return [
    {
      name: 'TypeScript, JavaScript and JSON: lint and format (biome)',
      passed: succeeds('@biomejs/biome/bin/biome', ['check', '--error-on-warnings', ...fixing, '.']),
    },
    { name: 'C++: format (clang-format)', passed: await lintNative(root, fix) },
    {
      name: 'npm package: its entries and types (publint)',
      passed: succeeds('publint/src/cli.js', ['--strict']),
    },
  ];
}

/** Runs a program of node_modules, which prints what it has to say. */
function succeeds(program: string, args: readonly string[]): boolean {
  const { status } = spawnSync(process.execPath, [path.join(root, 'node_modules', program), ...args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return status === 0;
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
