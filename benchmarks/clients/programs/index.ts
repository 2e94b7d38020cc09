import type { Client } from '../types';
import { human } from './human';
import { knnClassifier } from './knn_classifier';
import { mediapipe } from './mediapipe';
import { nsfwjs } from './nsfwjs';
import { poseDetection } from './pose_detection';
import { upscaler } from './upscaler';

export const clients: readonly Client[] = [
  human,
  nsfwjs,
  poseDetection,
  upscaler,
  knnClassifier,
  ...mediapipe,
];
