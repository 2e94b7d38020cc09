// Computes one op on the device that TFTRT_DEVICE names. A probe: see probe.ts.

import { TftrtError } from '../errors';
import { answer } from './probe';

export interface ProbedDevice {
  readonly tensorFlowVersion: string;
  /** In TensorFlow's terms. */
  readonly device: string;
  /** Model and compute capability of a GPU. */
  readonly description: string;
  readonly ms: number;
}

if (require.main === module) {
  void answer(async (): Promise<ProbedDevice> => {
    // Here, so that a package that is missing is an answer too.
    const tf = require('@tensorflow/tfjs-core') as typeof import('@tensorflow/tfjs-core');
    const tftrt = require('../index') as typeof import('../index');
    await tf.setBackend('tftrt');
    const { tensorFlowVersion, device } = tftrt.stats();
    const start = performance.now();
    const a = tf.tensor2d([1, 2, 3, 4], [2, 2]);
    const b = tf.tensor2d([5, 6, 7, 8], [2, 2]);
    const product = [...(await tf.matMul(a, b).data())];
    if (product.join() !== '19,22,43,50') {
      throw new TftrtError(
        'TFTRT_INTERNAL',
        `A product of matrices is ${product}, but should be 19,22,43,50.`,
      );
    }
    const ms = performance.now() - start;
    const description = tftrt.devices().find(({ name }) => name === device)?.description ?? '';
    return { tensorFlowVersion, device, description, ms };
  });
}
