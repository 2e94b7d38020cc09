// Resolve hook for ES modules, and for `require` too where Node has `registerHooks`; elsewhere, it runs on the loader's thread.
import { pathToFileURL } from 'node:url';
import { replacementOf } from './replaced';

interface Resolved {
  readonly url: string;
  readonly format?: string | null;
  readonly shortCircuit?: boolean;
}

export function resolve<Context, Result>(
  specifier: string,
  context: Context,
  nextResolve: (specifier: string, context: Context) => Result,
): Result | Resolved {
  const file = replacementOf(specifier);
  if (file === undefined) return nextResolve(specifier, context);
  // Node's own resolution is left out: that of `require` takes no URL.
  return { url: pathToFileURL(file).href, format: 'commonjs', shortCircuit: true };
}
