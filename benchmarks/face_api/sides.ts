import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { peerFolder } from '../peer';
import type { SideOptions } from '../side_process';
import type { SideName } from '../types';

/** Both share a GPU: neither may take all of its memory, and the peer, too, computes in FP32 unless the caller says otherwise. */
const ENVIRONMENT = {
  TF_FORCE_GPU_ALLOW_GROWTH: 'true',
  NVIDIA_TF32_OVERRIDE: process.env.NVIDIA_TF32_OVERRIDE ?? '0',
};

/** A process with the same program on either side; `folder`: where the peer's packages are linked, see `linkPeer`. */
export function processOf(side: SideName, home: string, folder: string): SideOptions {
  const start =
    side === 'tftrt'
      ? { nodeArgs: ['-r', require.resolve('tfjs-backend-tftrt/replace-tfjs-node')] }
      : { env: { NODE_PATH: folder } };
  return {
    name: `face-api on ${side}`,
    script: join(__dirname, 'child.js'),
    args: [side, home],
    ...start,
    env: { ...ENVIRONMENT, ...start.env },
  };
}

/** Makes the peer found as @tensorflow/tfjs-node too, for which face-api's Node build asks: the two packages have the same code. */
export function linkPeer(folder: string): void {
  const scope = join(folder, '@tensorflow');
  mkdirSync(scope, { recursive: true });
  symlinkSync(
    join(peerFolder(), 'node_modules', '@tensorflow', 'tfjs-node-gpu'),
    join(scope, 'tfjs-node'),
    'dir',
  );
}
