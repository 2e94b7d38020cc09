// `npm run test:asan`: the tests with an addon that AddressSanitizer watches. Takes the same arguments as `npm test`.

import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { addonBuildDir, ensureAddon } from '#src/setup/addon';
import { ensureTensorFlow } from '#src/setup/tensorflow';
import { conclude, runTests } from './run_mocha';

async function main(): Promise<void> {
  const options = { sanitize: 'address' } as const;
  await ensureAddon(await ensureTensorFlow(), options);
  const counts = await runTests({
    args: process.argv.slice(2),
    timeoutMs: 300_000,
    env: {
      TFTRT_ADDON_DIR: path.join(addonBuildDir(options), 'Release'),
      // Node is not built with the sanitizer, so its runtime has to be there first.
      LD_PRELOAD: execFileSync('g++', ['-print-file-name=libasan.so'], { encoding: 'utf8' }).trim(),
      // V8 and TensorFlow leave memory to the end of the process; our own leaks are tested by counting.
      ASAN_OPTIONS: 'detect_leaks=0',
    },
  });
  conclude(counts);
}

main();
