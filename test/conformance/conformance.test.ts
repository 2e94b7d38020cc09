import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { parseExclusions, staleExclusions } from './exclusions';

const SUMMARY = /^conformance: (\d+) specs, (\d+) passed, (\d+) failed, (\d+) pending, (\d+) excluded$/m;

describe("tfjs-core's own suite", () => {
  it('passes whole, with nothing excluded', async function () {
    this.timeout(600_000);
    const { output, code } = await run();
    const summary = SUMMARY.exec(output);
    assert.ok(summary, `the suite ended (exit code ${code}) without a summary:\n${output.slice(-4000)}`);
    console.log(`      ${summary[0]}`);
    const [specs, passed, failed, pending, excluded] = summary.slice(1).map(Number);
    assert.equal(
      failed,
      0,
      `the first failures:\n${output
        .split(/^(?=FAILED )/m)
        .slice(1, 6)
        .join('')}`,
    );
    assert.equal(excluded, 0);
    assert.equal(code, 0);
    assert.ok(specs! >= 4230, `${specs} specs ran, tfjs-core 4.22 has 4,230 for any backend`);
    assert.ok(pending! <= 5, `${pending} specs are pending, tfjs-core itself leaves 5 so`);
    assert.equal(passed! + pending!, specs);
  });
});

describe('the list of excluded specs', () => {
  const entry = { spec: 'add of nothing', reason: 'nothing to add' };

  it('holds entries with a name and a reason, each once', () => {
    assert.deepEqual(parseExclusions(JSON.stringify([entry])), [entry]);
    assert.throws(() => parseExclusions('{}'), /must hold an array/);
    assert.throws(() => parseExclusions('[{"spec": "a"}]'), /must be \{spec, reason\}/);
    assert.throws(() => parseExclusions('[{"spec": "a", "reason": " "}]'), /must be \{spec, reason\}/);
    assert.throws(
      () => parseExclusions('[{"spec": "a", "reason": "b", "c": 1}]'),
      /must be \{spec, reason\}/,
    );
    assert.throws(() => parseExclusions(JSON.stringify([entry, entry])), /excluded twice/);
  });

  it('fails the suite where an entry is stale', () => {
    const names = new Set([entry.spec]);
    assert.deepEqual(staleExclusions([entry], names, names), []);
    assert.deepEqual(staleExclusions([entry], new Set(), names), ['add of nothing: it passes']);
    assert.deepEqual(staleExclusions([entry], new Set(), new Set()), [
      'add of nothing: there is no such spec',
    ]);
  });
});

function run(): Promise<{ output: string; code: number | null }> {
  const child = spawn(process.execPath, [path.join(__dirname, 'run.js')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ output, code }));
  });
}
