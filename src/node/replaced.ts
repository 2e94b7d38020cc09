import path from 'node:path';

const PACKAGES = ['@tensorflow/tfjs-node', '@tensorflow/tfjs-node-gpu'];
/** What of those packages loads their addon. Other files of theirs, `package.json` for one, stay as they are. */
const ENTRIES = ['', '/dist/index', '/dist/index.js'];

const REPLACED = new Set(PACKAGES.flatMap((name) => ENTRIES.map((entry) => name + entry)));

/** The file that stands in for a module of tfjs-node; undefined for every other module. */
export function replacementOf(specifier: string): string | undefined {
  return REPLACED.has(specifier) ? path.join(__dirname, 'tfjs_node.js') : undefined;
}
