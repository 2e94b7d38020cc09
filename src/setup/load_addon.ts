import { SetupError } from '../errors';
import type { LibraryLoader } from './load_tensorflow';
import { addonFile, INSTALL } from './paths';

/** Loads one of the addon's two parts. `tftrt` needs TensorFlow's libraries in the process. */
export function loadAddonFile(name: 'tftrt' | 'tftrt_loader'): unknown {
  const file = addonFile(name);
  try {
    return require(file);
  } catch (cause) {
    // The other lines say who required it.
    const [reason] = (cause as Error).message.split('\n');
    throw new SetupError(
      'TFTRT_ADDON_LOAD',
      `The addon ${file} cannot be loaded: ${reason}`,
      `To get it, run ${INSTALL}.`,
      { cause },
    );
  }
}

/** The part that needs nothing else: it opens the libraries. */
export function loadLibraryLoader(): LibraryLoader {
  return loadAddonFile('tftrt_loader') as LibraryLoader;
}
