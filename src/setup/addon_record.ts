// What a built addon is for. It is kept beside it, also in the npm package, which comes with the addon built.

import fs from 'node:fs';
import path from 'node:path';
import { SetupError } from '../errors';
import { addonFile, INSTALL, packageVersion, TENSORFLOW_VERSION } from './paths';

/** The file's name, in the folder of the addon. */
export const ADDON_RECORD = 'addon.json';

export interface AddonRecord {
  /** The version of this package. */
  readonly version: string;
  readonly tensorFlow: string;
}

/** What an addon of this package is for. */
export function neededAddon(): AddonRecord {
  return { version: packageVersion(), tensorFlow: TENSORFLOW_VERSION };
}

/** Throws where the addon is one of another version of this package or for another TensorFlow. */
export function refuseOtherAddon(file: string = addonFile('tftrt')): void {
  const found = readRecord(path.join(path.dirname(file), ADDON_RECORD));
  if (found === undefined) return;
  const needed = neededAddon();
  if (found.version === needed.version && found.tensorFlow === needed.tensorFlow) return;
  const describe = ({ version, tensorFlow }: AddonRecord) =>
    `version ${version} for TensorFlow ${tensorFlow}`;
  throw new SetupError(
    'TFTRT_ADDON_VERSION',
    `The addon ${file} is of ${describe(found)}, but ${describe(needed)} is needed.`,
    `To get it, run ${INSTALL}.`,
  );
}

/** Undefined where there is no record: then there is no addon either, or one that somebody built by other means. */
function readRecord(file: string): AddonRecord | undefined {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
