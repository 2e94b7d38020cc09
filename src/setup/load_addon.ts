import fs from 'node:fs';
import { SetupError } from '../errors';
import { refuseOtherAddon } from './addon_record';
import type { LibraryLoader } from './load_tensorflow';
import { addonFile, INSTALL } from './paths';
import { asPermissionError, sayingPermission } from './permission';
import { complaintAboutMachine, complaintAboutPlatform, refuse } from './platform';
import { damageOf } from './shared_library';

/**
 * Loads one of the addon's two parts. `tftrt` needs TensorFlow's libraries in the process. Each call gives functions with
 * handles and ids of their own. With `require` there would be one set for all of a thread, though a thread may have the
 * package in several `vm` contexts, as test runners do: they would write over each other's `commands`.
 */
export function loadAddonFile(name: 'tftrt' | 'tftrt_loader'): unknown {
  const file = addonFile(name);
  try {
    const damage = fs.existsSync(file) ? damageOf(file) : null;
    if (damage !== null) throw new Error(damage);
    const addon = { exports: {} };
    process.dlopen(addon, file);
    return addon.exports;
  } catch (cause) {
    const forbidden = asPermissionError(cause);
    if (forbidden !== cause) throw forbidden;
    refuse(complaintAboutPlatform());
    const [reason] = (cause as Error).message.split('\n');
    throw new SetupError(
      'TFTRT_ADDON_LOAD',
      `The addon ${file} cannot be loaded: ${reason}`,
      `To get one that fits this system, run ${INSTALL}.`,
      { cause },
    );
  }
}

/** The part that needs nothing else: it opens the libraries. Throws where they could not be used at all. */
export function loadLibraryLoader(): LibraryLoader {
  refuse(complaintAboutMachine());
  sayingPermission(() => refuseOtherAddon());
  return loadAddonFile('tftrt_loader') as LibraryLoader;
}
