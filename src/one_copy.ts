// A thread can come to load this package more than once: a project may have two copies installed, and test runners load
// modules anew. tfjs keeps its backends and kernels for all copies of itself, so the first copy serves the others too.

import { packageRoot, packageVersion } from './setup/paths';

/** What the first copy has for the others. */
export interface FirstCopy {
  readonly folder: string;
  readonly version: string;
  /** What its main module and its module `node` export. */
  readonly main: unknown;
  readonly node: () => unknown;
  readonly hookGraphModel: (prototype: object) => void;
  /** That there are several was said. */
  warned: boolean;
}

const KEY = Symbol.for('tfjs-backend-tftrt.firstCopy');
const shared = globalThis as { [KEY]?: FirstCopy };

/** The copy that serves this one; undefined where this one is the first. */
export const firstCopy = shared[KEY];

/** Makes this copy the one that serves later ones. */
export function becomeFirstCopy(copy: Pick<FirstCopy, 'main' | 'node' | 'hookGraphModel'>): void {
  shared[KEY] = { ...copy, folder: packageRoot, version: packageVersion(), warned: false };
}

/** Has a module of this copy export what another copy's does. */
export function exportInstead(own: NodeJS.Module, others: unknown): void {
  own.exports = others;
}

/** Says once that several copies are installed; nothing where one copy is loaded anew. */
export function warnOfCopies(first: FirstCopy): void {
  if (first.warned || first.folder === packageRoot) return;
  first.warned = true;
  console.warn(
    `tftrt: tfjs-backend-tftrt is loaded twice: version ${first.version} from ${first.folder}, then version ${packageVersion()} ` +
      `from ${packageRoot}. The first serves both. \`npm ls tfjs-backend-tftrt\` says who depends on it; \`npm dedupe\` ` +
      'leaves one where their versions allow it.',
  );
}
