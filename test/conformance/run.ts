// Runs tfjs-core's own suite on this backend: `node dist-dev/test/conformance/run.js [--grep PATTERN] [--list]`.
// The last line is `conformance: N specs, N passed, N failed, N pending, N excluded`; the exit code is 0 if nothing failed.

import path from 'node:path';
import { parseArgs } from 'node:util';
import Mocha from 'mocha';
import { bundleSuite } from './bundle';
import { readExclusions, staleExclusions } from './exclusions';
import { installJasmineGlobals } from './jasmine_globals';

const root = path.resolve(__dirname, '../../..');

/** What there is to report is printed by `main`. */
class Quiet extends Mocha.reporters.Base {
  override epilogue(): void {}
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { grep: { type: 'string' } } });
  const exclusions = readExclusions(root);
  const excluded = new Set(exclusions.map(({ spec }) => spec));
  const suite = await bundleSuite(root);

  const mocha = new Mocha({
    ui: 'bdd',
    reporter: Quiet,
    timeout: 20_000,
    ...(values.grep ? { grep: values.grep } : {}),
  });
  mocha.suite.on('pre-require', (context) =>
    installJasmineGlobals(context as unknown as Record<string, unknown>),
  );
  mocha.addFile(suite);

  const counts = { passed: 0, failed: 0, pending: 0, excluded: 0 };
  const all = new Set<string>();
  const failed = new Set<string>();
  const runner = mocha.run((unexpected) => {
    for (const problem of values.grep ? [] : staleExclusions(exclusions, failed, all)) {
      counts.failed++;
      console.log(`stale exclusion: ${problem}`);
    }
    const total = counts.passed + counts.failed + counts.pending + counts.excluded;
    console.log(
      `conformance: ${total} specs, ${counts.passed} passed, ${counts.failed} failed, ${counts.pending} pending, ${counts.excluded} excluded`,
    );
    // tfjs's specs leave timers and workers behind.
    process.exit(counts.failed > 0 || counts.passed === 0 || (unexpected > 0 && failed.size === 0) ? 1 : 0);
  });
  runner.on('test end', (test) => all.add(test.fullTitle()));
  runner.on('pass', () => counts.passed++);
  runner.on('pending', () => counts.pending++);
  runner.on('fail', (test, error) => {
    const name = test.fullTitle();
    failed.add(name);
    if (excluded.has(name)) {
      counts.excluded++;
      return;
    }
    counts.failed++;
    console.log(
      `FAILED ${name}\n    ${String(error?.stack ?? error)
        .split('\n')
        .slice(0, 8)
        .join('\n    ')}`,
    );
  });
}

main();
