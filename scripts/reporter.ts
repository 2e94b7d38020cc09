import { type MochaOptions, type Runner, reporters } from 'mocha';
import type { Counts } from './run_mocha';

/**
 * mocha's `spec` reporter, which also tells the process that started mocha how many tests passed, failed and were skipped, and
 * which failed with what message.
 */
export default class Reporter extends reporters.Spec {
  constructor(runner: Runner, options: MochaOptions) {
    super(runner, options);
    runner.once('end', () => {
      const counts: Counts & { failures: string[] } = {
        passed: this.stats.passes,
        failed: this.stats.failures,
        skipped: this.stats.pending,
        failures: this.failures.map((test) => `${test.fullTitle()}: ${test.err?.message ?? 'no message'}`),
      };
      process.send?.(counts);
    });
  }
}
