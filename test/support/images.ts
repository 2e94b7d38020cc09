/** Gives an RGB image of any size, values 0 to 255, row by row. */
export type ImageSource = (height: number, width: number) => Float32Array;

/**
 * A made-up scene: a lit background, some flat and shaded shapes with sharp edges, a face-like arrangement of ellipses,
 * and a little noise. The same on every machine, and more like a photo than noise is.
 */
export const scene: ImageSource = (height, width) => {
  const random = randomNumbers(20);
  const pixels = new Float32Array(height * width * 3);
  for (let row = 0, i = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const y = row / height;
      const x = column / width;
      const color = colorAt(y, x);
      for (const channel of color) {
        // Whole numbers, as in a decoded picture.
        pixels[i++] = Math.round(Math.min(255, Math.max(0, channel + 12 * (random() - 0.5))));
      }
    }
  }
  return pixels;
};

/** A source that samples a decoded picture (nearest pixel), for tests on a real photo. */
export function fromPixels(pixels: ArrayLike<number>, height: number, width: number): ImageSource {
  return (wantedHeight, wantedWidth) => {
    const result = new Float32Array(wantedHeight * wantedWidth * 3);
    for (let row = 0, i = 0; row < wantedHeight; row++) {
      const y = Math.floor(((row + 0.5) * height) / wantedHeight);
      for (let column = 0; column < wantedWidth; column++) {
        const x = Math.floor(((column + 0.5) * width) / wantedWidth);
        for (let channel = 0; channel < 3; channel++) result[i++] = pixels[(y * width + x) * 3 + channel]!;
      }
    }
    return result;
  };
}

/** Seeded pseudo-random numbers in [0, 1). */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Shape {
  readonly y: number;
  readonly x: number;
  readonly height: number;
  readonly width: number;
  readonly round: boolean;
  readonly color: readonly [number, number, number];
}

/** From back to front; positions and sizes (half of the extent) in parts of the image. */
const SHAPES: readonly Shape[] = [
  { y: 0.85, x: 0.5, height: 0.15, width: 0.6, round: false, color: [94, 72, 55] }, // a table
  { y: 0.3, x: 0.82, height: 0.2, width: 0.12, round: false, color: [180, 205, 230] }, // a window
  { y: 0.72, x: 0.16, height: 0.1, width: 0.07, round: false, color: [170, 30, 40] }, // a cup
  { y: 0.75, x: 0.45, height: 0.3, width: 0.22, round: true, color: [40, 60, 120] }, // shoulders
  { y: 0.38, x: 0.45, height: 0.2, width: 0.14, round: true, color: [224, 180, 150] }, // a head
  { y: 0.24, x: 0.45, height: 0.09, width: 0.14, round: true, color: [50, 35, 25] }, // hair
  { y: 0.36, x: 0.4, height: 0.016, width: 0.022, round: true, color: [30, 30, 40] }, // eyes
  { y: 0.36, x: 0.5, height: 0.016, width: 0.022, round: true, color: [30, 30, 40] },
  { y: 0.42, x: 0.45, height: 0.03, width: 0.012, round: true, color: [200, 150, 120] }, // a nose
  { y: 0.49, x: 0.45, height: 0.014, width: 0.05, round: true, color: [170, 70, 75] }, // a mouth
];

function colorAt(y: number, x: number): [number, number, number] {
  let color: [number, number, number] = [120 + 90 * x, 140 + 60 * x - 40 * y, 130 - 50 * y];
  for (const shape of SHAPES) {
    const dy = (y - shape.y) / shape.height;
    const dx = (x - shape.x) / shape.width;
    const inside = shape.round ? dy * dy + dx * dx <= 1 : Math.abs(dy) <= 1 && Math.abs(dx) <= 1;
    if (!inside) continue;
    const light = 1 - 0.25 * dx - 0.15 * dy; // from the upper left
    color = [shape.color[0] * light, shape.color[1] * light, shape.color[2] * light];
  }
  return color;
}
