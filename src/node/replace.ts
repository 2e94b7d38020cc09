// `node -r tfjs-backend-tftrt/replace-tfjs-node app.js`: from here on, who asks for @tensorflow/tfjs-node or
// @tensorflow/tfjs-node-gpu gets this package.
import Module from 'node:module';
import { pathToFileURL } from 'node:url';
import { resolve } from './replace_loader';
import { replacementOf } from './replaced';

/** What @types/node does not have: Node's own name for what `require` and `require.resolve` ask, and hooks of Node 22.15. */
interface ModuleInternals {
  _resolveFilename(request: string, ...others: unknown[]): string;
  registerHooks?(hooks: { resolve: typeof resolve }): void;
}

const REPLACED = Symbol.for('tfjs-backend-tftrt.tfjsNodeReplaced');
const internals = Module as unknown as ModuleInternals & { [REPLACED]?: boolean };

if (!internals[REPLACED]) {
  internals[REPLACED] = true;
  replaceForRequire();
  replaceForImport();
}

function replaceForRequire(): void {
  const resolveFilename = internals._resolveFilename;
  internals._resolveFilename = function (this: unknown, request, ...others) {
    return replacementOf(request) ?? resolveFilename.call(this, request, ...others);
  };
}

function replaceForImport(): void {
  if (internals.registerHooks) internals.registerHooks({ resolve });
  else Module.register('./replace_loader.js', pathToFileURL(__filename));
}
