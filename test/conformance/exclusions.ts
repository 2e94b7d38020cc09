import fs from 'node:fs';
import path from 'node:path';

/** A spec that is not held against the backend, and why. */
export interface Exclusion {
  /** The spec's full name, as the runner prints it. */
  readonly spec: string;
  readonly reason: string;
}

/** The list as it is kept next to the sources. */
export function readExclusions(root: string): Exclusion[] {
  return parseExclusions(fs.readFileSync(path.join(root, 'test/conformance/exclusions.json'), 'utf8'));
}

/** Throws for anything but an array of {spec, reason}, each spec once. */
export function parseExclusions(json: string): Exclusion[] {
  const list: unknown = JSON.parse(json);
  if (!Array.isArray(list)) throw new Error('exclusions.json must hold an array.');
  const seen = new Set<string>();
  for (const entry of list) {
    const { spec, reason, ...rest } = entry as Partial<Exclusion>;
    const known =
      typeof spec === 'string' && spec !== '' && typeof reason === 'string' && reason.trim() !== '';
    if (!known || Object.keys(rest).length > 0) {
      throw new Error(
        `An exclusion must be {spec, reason}, neither of them empty; got ${JSON.stringify(entry)}.`,
      );
    }
    if (seen.has(spec)) throw new Error(`The spec '${spec}' is excluded twice.`);
    seen.add(spec);
  }
  return list as Exclusion[];
}

/** Entries that have no business in the list any more: their spec passes, or there is none of that name. */
export function staleExclusions(
  exclusions: readonly Exclusion[],
  failed: ReadonlySet<string>,
  all: ReadonlySet<string>,
): string[] {
  return exclusions
    .filter(({ spec }) => !failed.has(spec))
    .map(({ spec }) => (all.has(spec) ? `${spec}: it passes` : `${spec}: there is no such spec`));
}
