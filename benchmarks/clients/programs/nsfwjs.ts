import type { Tensor3D } from '@tensorflow/tfjs';
import type { Client } from '../types';

interface Classifier {
  classify(image: Tensor3D): Promise<readonly { className: string; probability: number }[]>;
}

export const nsfwjs: Client = {
  name: 'nsfwjs',
  package: 'nsfwjs',
  about: 'six photos to classes, by its graph model MobileNetV2Mid',
  async open({ require, tf, photos }) {
    const { load } = require('nsfwjs') as { load(model: string): Promise<Classifier> };
    const model = await load('MobileNetV2Mid');
    const images = photos.map((photo) => tf.node.decodeImage(photo, 3) as Tensor3D);
    return async () => {
      const found = [];
      for (const image of images)
        found.push(
          (await model.classify(image)).map(({ className, probability }) => [className, probability]),
        );
      return found;
    };
  },
};
