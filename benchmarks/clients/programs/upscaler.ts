import type { Tensor3D } from '@tensorflow/tfjs';
import type { Client } from '../types';

interface Upscaler {
  upscale(image: Tensor3D, options: object): Promise<Tensor3D>;
}

export const upscaler: Client = {
  name: 'upscaler',
  package: 'upscaler',
  about: 'a photo of 240 x 160 to twice its size, whole and in patches of 64',
  async open({ require, tf, photos }) {
    const Upscaler = defaultOf(require('upscaler/node')) as new (options: object) => Upscaler;
    const instance = new Upscaler({ model: defaultOf(require('@upscalerjs/default-model')) });
    const small = tf.tidy(() => {
      const photo = tf.node.decodeImage(photos[0]!, 3) as Tensor3D;
      return tf.image.resizeBilinear(photo, [160, 240]).toInt();
    });
    return async () => {
      const whole = await instance.upscale(small, { output: 'tensor' });
      const patches = await instance.upscale(small, { output: 'tensor', patchSize: 64, padding: 4 });
      const found = { whole: [...(await whole.data())], patches: [...(await patches.data())] };
      tf.dispose([whole, patches]);
      return found;
    };
  },
};

function defaultOf(module: unknown): unknown {
  return (module as { default?: unknown }).default ?? module;
}
