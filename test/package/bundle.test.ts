import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '#src/setup/paths';
import { runNode } from '../process/child';
import { useTemporaryFolder, writeFile } from '../setup/helpers';

const PACKAGES = path.join(packageRoot, 'node_modules');

/** What esbuild makes of a program that uses this package. */
describe('a bundle', function () {
  this.timeout(60_000);
  const folder = useTemporaryFolder();

  /** Bundles a program that computes, and runs it. */
  async function bundled(entry: string, ...options: string[]) {
    const project = path.join(folder(), 'project');
    writeFile(
      path.join(project, 'app.js'),
      `const tf = require('@tensorflow/tfjs');
      require('${entry}');
      tf.setBackend('tftrt').then(() => console.log(tf.add(1, 2).dataSync()[0]));`,
    );
    fs.mkdirSync(path.join(project, 'node_modules'));
    for (const [name, place] of [
      ['tfjs-backend-tftrt', packageRoot],
      ['@tensorflow', path.join(PACKAGES, '@tensorflow')],
    ] as const) {
      fs.symlinkSync(place, path.join(project, 'node_modules', name));
    }
    const server = path.join(project, 'dist', 'server.js');
    const arguments_ = ['app.js', '--bundle', '--platform=node', '--log-level=error', `--outfile=${server}`];
    execFileSync(path.join(PACKAGES, '.bin', 'esbuild'), [...arguments_, ...options], { cwd: project });
    return runNode(`
      try { require('${server}'); } catch (error) { console.log(error.name, error.code, error.message); }`);
  }

  for (const entry of ['tfjs-backend-tftrt', 'tfjs-backend-tftrt/node']) {
    it(`with ${entry} in it says what to keep out`, async () => {
      const { stdout } = await bundled(entry);
      expect(stdout).to.match(/^TftrtError TFTRT_BUNDLED .*was bundled/);
      expect(stdout).to.include('esbuild: --packages=external');
    });
  }

  it("does not take another package's folder for its own", async () => {
    writeFile(path.join(folder(), 'package.json'), '{"name":"app","version":"1.0.0"}');
    expect((await bundled('tfjs-backend-tftrt')).stdout).to.include('TFTRT_BUNDLED');
  });

  it('without it computes', async () => {
    const { stdout, stderr } = await bundled('tfjs-backend-tftrt', '--packages=external');
    expect(stdout, stderr).to.equal('3\n');
  });
});
