import { io } from '@tensorflow/tfjs-core';

/**
 * Models in TensorFlow.js's format on a web server. `requestInit`: what `fetch` takes beside the URL; `weightPathPrefix`:
 * where the weight files are, if not beside the model.
 */
export function nodeHTTPRequest(
  path: string,
  requestInit?: RequestInit,
  weightPathPrefix?: string,
): io.IOHandler {
  return io.browserHTTPRequest(path, {
    ...(requestInit === undefined ? {} : { requestInit }),
    ...(weightPathPrefix === undefined ? {} : { weightPathPrefix }),
  });
}
