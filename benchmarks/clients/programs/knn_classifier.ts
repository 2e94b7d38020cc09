import type { Tensor1D } from '@tensorflow/tfjs';
import type { Client } from '../types';

interface Classifier {
  addExample(example: Tensor1D, label: string): void;
  predictClass(example: Tensor1D, k: number): Promise<{ label: string; confidences: Record<string, number> }>;
  dispose(): void;
}

export const knnClassifier: Client = {
  name: '@tensorflow-models/knn-classifier',
  package: '@tensorflow-models/knn-classifier',
  about: '60 examples of 64 numbers in three classes, then three predictions',
  async open({ require, tf }) {
    const { create } = require('@tensorflow-models/knn-classifier') as { create(): Classifier };
    const example = (step: number) => tf.tensor1d(Array.from({ length: 64 }, (_, i) => Math.sin(i * step)));
    return async () => {
      const classifier = create();
      for (let i = 0; i < 60; i++) {
        const one = example(i / 20 + 0.1);
        classifier.addExample(one, `class ${i % 3}`);
        one.dispose();
      }
      const found = [];
      for (const step of [0.15, 1.2, 2.9]) {
        const one = example(step);
        found.push(await classifier.predictClass(one, 7));
        one.dispose();
      }
      classifier.dispose();
      return found.map(({ label, confidences }) => ({ label, confidences }));
    };
  },
};
