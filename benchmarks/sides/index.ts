import type { Side, SideName } from '../types';

/** Both sides, in the order in which they are printed. */
export const SIDES: readonly SideName[] = ['tftrt', 'peer'];

/** Opens a side; only its own library is loaded. */
export async function openSide(name: SideName): Promise<Side> {
  const side = name === 'tftrt' ? await import('./tftrt.js') : await import('./peer.js');
  return side.open();
}
