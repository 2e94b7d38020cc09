import { createRequire } from 'node:module';
import { join } from 'node:path';
import type * as tfjs from '@tensorflow/tfjs';
import { peerFolder } from '../peer';
import type { SavedModel, Side } from '../types';

/** What is used of the peer beyond tfjs itself. */
type Peer = typeof tfjs & {
  node: { loadSavedModel(path: string, tags?: string[], signature?: string): Promise<SavedModel> };
};

interface PeerBackend {
  readonly isUsingGpuDevice: boolean;
  readonly binding: { readonly TF_Version: string };
}

/** Opens the peer's side: it chooses its backend when it is loaded. */
export async function open(): Promise<Side> {
  const peerRequire = createRequire(join(peerFolder(), 'package.json'));
  const tf = peerRequire('@tensorflow/tfjs-node-gpu') as Peer;
  await tf.ready();
  const backend = tf.backend() as unknown as PeerBackend;
  return {
    name: 'peer',
    tf,
    versions: {
      tfjs: tf.version.tfjs,
      'tfjs-node-gpu': versionOf(tf),
      tensorflow: backend.binding.TF_Version,
    },
    device: backend.isUsingGpuDevice ? 'gpu' : 'cpu',
    loadSavedModel: (folder) => tf.node.loadSavedModel(folder, ['serve'], 'serving_default'),
  };
}

function versionOf(tf: Peer): string {
  return (tf.version as Record<string, string>)['tfjs-node'] ?? 'unknown';
}
