import * as tf from '@tensorflow/tfjs';
import type { Detection } from './detector';

/** Colours of the boxes, in turn: names for the terminal, red-green-blue for the picture. */
export const COLOURS: ReadonlyArray<readonly [name: string, rgb: readonly [number, number, number]]> = [
  ['red', [230, 25, 75]],
  ['green', [60, 180, 75]],
  ['yellow', [255, 225, 25]],
  ['blue', [0, 130, 255]],
  ['orange', [245, 130, 48]],
  ['purple', [145, 30, 180]],
  ['cyan', [70, 240, 240]],
  ['magenta', [240, 50, 230]],
];

/** The photo with a frame around each thing found, int32 [height, width, 3]. */
export function annotate(photo: tf.Tensor3D, detections: readonly Detection[]): tf.Tensor3D {
  const [height, width] = photo.shape;
  const pixels = photo.dataSync();
  const thickness = Math.max(2, Math.round(Math.max(height, width) / 300));
  // The surest last, so that its frame is on top.
  [...detections.entries()].reverse().forEach(([index, { box }]) => {
    const [, colour] = COLOURS[index % COLOURS.length]!;
    const left = Math.floor(box.left);
    const top = Math.floor(box.top);
    const right = Math.min(Math.ceil(box.right), width) - 1;
    const bottom = Math.min(Math.ceil(box.bottom), height) - 1;
    for (let y = top; y <= bottom; y++) {
      for (let x = left; x <= right; x++) {
        const inside =
          x >= left + thickness && x <= right - thickness && y >= top + thickness && y <= bottom - thickness;
        if (inside) x = right - thickness;
        else pixels.set(colour, (y * width + x) * 3);
      }
    }
  });
  return tf.tensor3d(pixels, photo.shape, 'int32');
}
