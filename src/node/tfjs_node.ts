// What stands in for @tensorflow/tfjs-node where ./replace is loaded: the same as `tfjs-backend-tftrt/node`, with the backend
// in use under the name that programs written for tfjs-node ask for, and register kernels of their own under.
import { setBackend } from '@tensorflow/tfjs-core';
import { TFJS_NODE_BACKEND } from './names';

export * from '.';

// Where TensorFlow cannot be loaded, every use of the backend throws the reason.
setBackend(TFJS_NODE_BACKEND).catch(() => undefined);
