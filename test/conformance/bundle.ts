import path from 'node:path';
import { build } from 'esbuild';

/** The suite: a backend under test, then everything that tfjs-core's specs take for granted, then the specs. */
const ENTRY = `
require('tfjs-backend-tftrt');
require('@tensorflow/tfjs-core/dist/register_all_gradients');
require('@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops');
require('@tensorflow/tfjs-core/dist/jasmine_util').setTestEnvs([
  { name: 'tftrt', backendName: 'tftrt', flags: {}, isDataSync: true },
]);
require('@tensorflow/tfjs-core/dist/tests');
`;

/**
 * Bundles tfjs-core's specs, which are modules that Node.js cannot load as they are (imports without extensions), into one
 * CommonJS file. tfjs keeps its registries and its engine on the global object, so the bundle's copy of tfjs-core and the
 * backend's work as one.
 */
export async function bundleSuite(root: string): Promise<string> {
  const outfile = path.join(root, 'dist-dev/conformance-suite.cjs');
  await build({
    stdin: { contents: ENTRY, resolveDir: root, sourcefile: 'entry.js' },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    mainFields: ['module', 'main'],
    // tfjs-core's list of files with side effects leaves its specs out: with it, the bundle would be empty.
    ignoreAnnotations: true,
    external: ['tfjs-backend-tftrt'],
    // The suite's helper loads jasmine only to set its timeout; the specs use the globals, which are ours.
    alias: { 'jasmine-core/lib/jasmine-core/jasmine.js': path.join(__dirname, 'jasmine_core.js') },
    logLevel: 'error',
  });
  return outfile;
}
