import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TftrtError } from '#src/errors';

/** The values of one image. */
export const IMAGE = 224 * 224 * 3;
const CLASSES = 1000;

/** How far computed probabilities are from those of Python's TensorFlow. */
export interface Agreement {
  readonly images: number;
  readonly maxAbsoluteDifference: number;
  /** The share of images that get the same likeliest class. */
  readonly sameClass: number;
}

/** The sample images, and what Python's TensorFlow makes of them. */
export class Images {
  readonly #pixels: Float32Array;
  readonly #expected: Float32Array;
  readonly count: number;

  constructor(folder: string) {
    const file = (name: string) => new Uint8Array(readFileSync(join(folder, name)));
    this.#pixels = Float32Array.from(file('images.bin'), (value) => value / 255);
    this.#expected = new Float32Array(file('expected.bin').buffer);
    this.count = this.#pixels.length / IMAGE;
    if (this.#expected.length !== this.count * CLASSES)
      throw new TftrtError(
        'TFTRT_BENCH_MODELS',
        `The images and the expected outputs in ${folder} do not belong together; make or unpack the models again.`,
      );
  }

  /** A fresh typed array of `count` images, starting with the `first`; they are repeated as need be. */
  batch(count: number, first = 0): Float32Array {
    const values = new Float32Array(count * IMAGE);
    for (let i = 0; i < count; i++) {
      const start = ((first + i) % this.count) * IMAGE;
      values.set(this.#pixels.subarray(start, start + IMAGE), i * IMAGE);
    }
    return values;
  }

  /** Compares the probabilities of `batch(count, first)`. */
  compare(probabilities: ArrayLike<number>, first = 0): Agreement {
    const images = probabilities.length / CLASSES;
    let difference = 0;
    let same = 0;
    for (let i = 0; i < images; i++) {
      const expected = ((first + i) % this.count) * CLASSES;
      let [likeliest, wanted] = [0, 0];
      for (let k = 0; k < CLASSES; k++) {
        const distance = Math.abs(probabilities[i * CLASSES + k]! - this.#expected[expected + k]!);
        difference = Math.max(difference, distance); // NaN if there ever is one
        if (probabilities[i * CLASSES + k]! > probabilities[i * CLASSES + likeliest]!) likeliest = k;
        if (this.#expected[expected + k]! > this.#expected[expected + wanted]!) wanted = k;
      }
      if (likeliest === wanted) same++;
    }
    if (Number.isNaN(difference))
      throw new TftrtError('TFTRT_BENCH_OUTPUT', 'The model computes NaN: its speed says nothing.');
    return { images, maxAbsoluteDifference: difference, sameClass: same / images };
  }
}
