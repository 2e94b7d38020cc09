// Resolve hook of ES modules; runs on the thread of Node's loader where Node has no `registerHooks`.
import { pathToFileURL } from 'node:url';
import { replacementOf } from './replaced';

export function resolve<Context, Result>(
  specifier: string,
  context: Context,
  nextResolve: (specifier: string, context: Context) => Result,
): Result {
  const file = replacementOf(specifier);
  return nextResolve(file === undefined ? specifier : pathToFileURL(file).href, context);
}
