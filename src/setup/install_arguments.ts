import { parseArgs } from 'node:util';

export interface InstallArguments {
  readonly gpu?: boolean;
  readonly from?: string;
}

/** Parses what `tftrt install` and `npm run setup` take. Throws where that is wrong. */
export function parseInstallArguments(args: readonly string[]): InstallArguments {
  const { gpu, from } = parseArgs({
    args: [...args],
    options: { gpu: { type: 'boolean' }, from: { type: 'string', multiple: true } },
  }).values;
  if (from !== undefined && from.length > 1) {
    throw new Error(`--from is there ${from.length} times, and takes one folder: ${from.join(', ')}`);
  }
  return { gpu, from: from?.[0] };
}
