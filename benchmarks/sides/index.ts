import type { Configuration } from 'tfjs-backend-tftrt';
import type { Side, SideName } from '../types';

/** Both sides, in the order in which they are printed. */
export const SIDES: readonly SideName[] = ['tftrt', 'peer'];

/** Opens a side; only its own library is loaded. The configuration is this project's; the peer has none. */
export async function openSide(name: SideName, configuration: Configuration = {}): Promise<Side> {
  if (name === 'peer') return (await import('./peer.js')).open();
  return (await import('./tftrt.js')).open(configuration);
}
