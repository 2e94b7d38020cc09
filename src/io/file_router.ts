import { fileURLToPath } from 'node:url';
import { io } from '@tensorflow/tfjs-core';
import { TftrtError } from '../errors';
import { fileSystem } from './graph_def_files';

const SCHEME = 'file://';

/** tfjs asks all routers, this one among them, whether another one claims a URL. */
let asking = false;

/**
 * Lets tfjs load models from and save them to `file://` URLs. Steps aside for any other router that claims them, whether
 * it was registered before or is later: tfjs takes two for an error.
 */
export function registerFileRouter(): void {
  // Two copies of this package would step aside for each other.
  if (io.getLoadHandlers(SCHEME).length > 0) return;
  io.registerLoadRouter((url) => route(url, io.getLoadHandlers));
  io.registerSaveRouter((url) => route(url, io.getSaveHandlers));
}

function route(url: string | string[], handlersOf: (url: string | string[]) => unknown[]): io.IOHandler {
  const none = null as unknown as io.IOHandler; // what tfjs expects of a router that does not claim the URL
  const urls = Array.isArray(url) ? url : [url];
  const claimed = urls.length > 0 && urls.every((one) => typeof one === 'string' && one.startsWith(SCHEME));
  if (!claimed || asking) return none;
  asking = true;
  try {
    if (handlersOf(url).length > 0) return none;
  } finally {
    asking = false;
  }
  return fileSystem(Array.isArray(url) ? url.map(pathOf) : pathOf(url));
}

/** `file:///absolute/path`, or `file://relative/path` as people write it for tfjs. */
function pathOf(url: string): string {
  try {
    return url.startsWith('file:///') ? fileURLToPath(url) : decodeURIComponent(url.slice(SCHEME.length));
  } catch (cause) {
    throw new TftrtError(
      'TFTRT_INVALID_ARGUMENT',
      `${url} is not a valid file URL (${(cause as Error).message}): write a % in a path as %25, or use \`require('node:url').pathToFileURL(path).href\`.`,
      { cause },
    );
  }
}
