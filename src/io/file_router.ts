import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { io } from '@tensorflow/tfjs-core';
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

/**
 * `file://` and a path, absolute or relative, which is taken as it is, as tfjs-node does: `file:///models/run#1`. It may also be
 * a URL in which such characters are encoded, as `pathToFileURL` makes it, where only that is, or could be made.
 */
function pathOf(url: string): string {
  const literal = url.slice(SCHEME.length);
  const paths = [literal, ...decoded(url, literal)];
  return (
    paths.find((place) => fs.existsSync(place)) ??
    paths.find((place) => fs.existsSync(path.dirname(place))) ??
    literal
  );
}

function decoded(url: string, literal: string): string[] {
  if (!literal.includes('%') || /[#?]/.test(literal)) return [];
  try {
    return [literal.startsWith('/') ? fileURLToPath(url) : decodeURIComponent(literal)];
  } catch {
    return []; // a % that encodes nothing
  }
}
