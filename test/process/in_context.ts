import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import vm from 'node:vm';

/**
 * Loads CommonJS modules in a `vm` context of their own, as test runners do: they have globals of their own, among them
 * Float32Array and Error, while Node's modules and addons are those of the process.
 */
export function moduleLoader(from: string): (id: string) => unknown {
  const context = vm.createContext({
    ...{ console, process, Buffer, URL, TextEncoder, TextDecoder, performance, fetch, queueMicrotask },
    ...{ setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate },
  });
  vm.runInContext('globalThis.global = globalThis', context);
  const loaded = new Map<string, { exports: unknown }>();

  function load(file: string): unknown {
    const known = loaded.get(file);
    if (known !== undefined) return known.exports;
    const module = { exports: {} as unknown, filename: file };
    loaded.set(file, module);
    const outside = createRequire(file);
    const text = fs.readFileSync(file, 'utf8');
    if (file.endsWith('.json')) {
      module.exports = JSON.parse(text);
    } else {
      const inside = (id: string) => {
        const found = outside.resolve(id);
        return path.isAbsolute(found) && !found.endsWith('.node') ? load(found) : outside(found);
      };
      const wrapped = `(function (exports, require, module, __filename, __dirname) {${text}\n})`;
      vm.runInContext(wrapped, context, { filename: file })(
        ...[module.exports, Object.assign(inside, { resolve: outside.resolve, cache: {} })],
        ...[module, file, path.dirname(file)],
      );
    }
    return module.exports;
  }

  return (id) => load(createRequire(from).resolve(id));
}
