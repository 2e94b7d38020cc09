import { delimiter, join } from 'node:path';
import { packageRoot } from '#src/setup/paths';
import { processOf as faceApiProcess } from '../face_api/sides';
import { peerFolder } from '../peer';
import type { SideOptions } from '../side_process';
import type { SideName } from '../types';

/** A process with a client on either side: each finds @tensorflow/… in its own node_modules. */
export function processOf(side: SideName, client: string, folders: Folders): SideOptions {
  const own = side === 'tftrt' ? [packageRoot] : [peerFolder()];
  const paths = [
    ...(side === 'peer' ? [folders.linked] : []),
    ...own.map((one) => join(one, 'node_modules')),
  ];
  const { nodeArgs, env } = faceApiProcess(side, '', folders.linked);
  return {
    name: `${client} on ${side}`,
    script: join(__dirname, 'child.js'),
    args: [side, client, JSON.stringify(folders)],
    nodeArgs,
    env: { ...env, NODE_PATH: paths.join(delimiter) },
  };
}

/** Where everything is. */
export interface Folders {
  readonly clients: string;
  readonly faceApi: string;
  readonly models: string;
  /** Made by `linkPeer`. */
  readonly linked: string;
}
