import type { Tensor3D } from '@tensorflow/tfjs';
import type { Client } from '../types';

interface Pose {
  readonly score: number;
  readonly keypoints: readonly { x: number; y: number; score: number }[];
}
interface Detector {
  reset(): void;
  estimatePoses(image: Tensor3D): Promise<readonly Pose[]>;
}
interface Package {
  createDetector(model: string, options: object): Promise<Detector>;
  readonly SupportedModels: { readonly MoveNet: string };
}

export const poseDetection: Client = {
  name: '@tensorflow-models/pose-detection, MoveNet',
  package: '@tensorflow-models/pose-detection',
  about: 'six photos, one body in each: MoveNet',
  async open({ require, tf, photos, models }) {
    const { createDetector, SupportedModels } = require('@tensorflow-models/pose-detection') as Package;
    const detector = await createDetector(SupportedModels.MoveNet, {
      modelUrl: `file://${models}/movenet-lightning.json`,
    });
    const images = photos.map((photo) => tf.node.decodeImage(photo, 3) as Tensor3D);
    return async () => {
      const found = [];
      for (const image of images) {
        detector.reset(); // each photo is of somebody else
        const poses = await detector.estimatePoses(image);
        found.push(
          poses.map(({ score, keypoints }) => [
            score,
            keypoints.map((point) => [point.x, point.y, point.score]),
          ]),
        );
      }
      return found;
    };
  },
};
