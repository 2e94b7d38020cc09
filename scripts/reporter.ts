import { type MochaOptions, type Runner, reporters } from 'mocha';
import type { Result } from './run_mocha';

/**
 * mocha's `spec` reporter, which also tells the process that started mocha how many tests passed, failed and were skipped,
 * which were skipped, and which failed with what message.
 */
export default class Reporter extends reporters.Spec {
  constructor(runner: Runner, options: MochaOptions) {
    super(runner, options);
    const skippedTests: string[] = [];
    runner.on('pending', (test) => skippedTests.push(test.fullTitle()));
    runner.once('end', () => {
      const counts: Omit<Result, 'files' | 'seconds'> = {
        passed: this.stats.passes,
        failed: this.stats.failures,
        skipped: this.stats.pending,
        skippedTests,
        failures: this.failures.map((test) => `${test.fullTitle()}: ${test.err?.message ?? 'no message'}`),
      };
      process.send?.(counts);
    });
  }
}
