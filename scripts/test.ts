// `npm test`: lint, format, then the tests. Arguments go to mocha (`npm test -- --grep upload`) or name the test files
// to run (`npm test -- test/setup/lock.test.ts`). The last line printed is `N passed, N failed`.

import { lint, printChecks } from './lint';
import { add, type Counts, conclude, runTests } from './run_mocha';

async function main(): Promise<void> {
  const checks = await lint();
  printChecks(checks);
  const total: Counts = {
    passed: checks.filter(({ passed }) => passed).length,
    failed: checks.filter(({ passed }) => !passed).length,
    skipped: 0,
  };
  add(total, await runTests({ args: process.argv.slice(2), timeoutMs: 30_000 }));
  conclude(total);
}

main();
