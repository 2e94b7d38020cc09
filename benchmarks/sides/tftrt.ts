import * as tf from '@tensorflow/tfjs';
import * as tftrt from 'tfjs-backend-tftrt';
import type { Side } from '../types';

/** Opens this project's side. */
export async function open(configuration: tftrt.Configuration): Promise<Side> {
  tftrt.configure(configuration);
  await tf.setBackend('tftrt');
  await tf.ready();
  const { tensorFlowVersion, device } = tftrt.stats();
  const { version } = require('tfjs-backend-tftrt/package.json') as { version: string };
  return {
    name: 'tftrt',
    tf,
    versions: { tfjs: tf.version.tfjs, 'tfjs-backend-tftrt': version, tensorflow: tensorFlowVersion },
    device: device.includes('GPU') ? 'gpu' : 'cpu',
    loadSavedModel: (folder) =>
      tftrt.loadSavedModel(folder, { tags: ['serve'], signature: 'serving_default' }),
    nativeTensors: () => tftrt.stats().tensors,
  };
}
