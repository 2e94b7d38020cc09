import { Random } from './random';

export const SIDE = 32;
export const CHANNELS = 3;
const IMAGE_VALUES = SIDE * SIDE * CHANNELS;

/** Images with their classes, one after the other. */
export interface Images {
  readonly count: number;
  /** Rows of pixels of three channels; about −2 to 2. */
  readonly pixels: Float32Array;
  readonly labels: Int32Array;
}

/**
 * Outlines, as functions of the place relative to centre and radius: how far outside of the figure a point lies, in radii,
 * negative inside.
 */
const OUTLINES: ReadonlyArray<(x: number, y: number) => number> = [
  // disc
  (x, y) => Math.sqrt(x * x + y * y) - 0.85,
  // square
  (x, y) => Math.max(Math.abs(x), Math.abs(y)) - 0.75,
  // triangle
  (x, y) => Math.max(0.866 * Math.abs(x) + 0.5 * y, -y) - 0.55,
  // plus
  (x, y) =>
    Math.min(
      Math.max(Math.abs(x) - 0.95, Math.abs(y) - 0.34),
      Math.max(Math.abs(x) - 0.34, Math.abs(y) - 0.95),
    ),
  // ring
  (x, y) => Math.abs(Math.sqrt(x * x + y * y) - 0.72) - 0.24,
  // flower of five petals: the cosine of 5 times the angle is a polynomial of the angle's cosine
  (x, y) => {
    const radius = Math.sqrt(x * x + y * y) + 1e-9;
    const c = x / radius;
    const c2 = c * c;
    return radius - 0.62 - 0.36 * c * (16 * c2 * c2 - 20 * c2 + 5);
  },
];

/** Fills, as functions of the place in periods: which of the figure's two colours a point has. */
const FILLS: ReadonlyArray<(u: number, v: number) => boolean> = [
  // stripes
  (u) => u - Math.floor(u) < 0.5,
  // checks
  (u, v) => u - Math.floor(u) < 0.5 !== v - Math.floor(v) < 0.5,
];

/** A class is an outline with a fill. */
export const CLASSES = OUTLINES.length * FILLS.length;

/**
 * Makes images of a figure before a shaded background: place, size, turn, colours, period of the fill, something in front
 * of it and noise are random. The noise of some images is so strong that nobody could tell the class for certain: what a
 * classifier can reach is limited by the data.
 */
export function makeImages(count: number, seed: number): Images {
  const random = new Random(seed);
  const pixels = new Float32Array(count * IMAGE_VALUES);
  const labels = new Int32Array(count);
  for (let i = 0; i < count; i++) {
    const label = random.below(CLASSES);
    labels[i] = label;
    draw(random, label, pixels, i * IMAGE_VALUES);
  }
  return { count, pixels, labels };
}

/** The first images of a set, sharing its memory. */
export function firstOf(images: Images, count: number): Images {
  const pixels = images.pixels.subarray(0, count * IMAGE_VALUES);
  return { count, pixels, labels: images.labels.subarray(0, count) };
}

function draw(random: Random, label: number, pixels: Float32Array, offset: number): void {
  const outline = OUTLINES[label % OUTLINES.length]!;
  const fill = FILLS[Math.floor(label / OUTLINES.length)]!;
  const radius = random.uniform(10, 14);
  const centre = { x: place(random, radius), y: place(random, radius) };
  const turn = turnBy(random.uniform(0, 2 * Math.PI), 1 / radius);
  const grain = turnBy(random.uniform(0, 2 * Math.PI), 1 / random.uniform(5, 8));
  const phase = { u: random.uniform(0, 1), v: random.uniform(0, 1) };

  const background = colour(random, 0.6);
  const slope = { x: colour(random, 0.02), y: colour(random, 0.02) };
  const bright = colour(random, 0.6);
  const dark = farFrom(random, bright, 0.7);
  const contrast = random.uniform(0.7, 1);

  for (let row = 0, i = offset; row < SIDE; row++) {
    for (let column = 0; column < SIDE; column++) {
      const dx = column - centre.x;
      const dy = row - centre.y;
      const outside = radius * outline(turn.cos * dx - turn.sin * dy, turn.sin * dx + turn.cos * dy);
      // A pixel on the border has a share of both colours.
      const share = outside > 0.5 ? 0 : contrast * (outside < -0.5 ? 1 : 0.5 - outside);
      const inBright =
        share > 0 &&
        fill(grain.cos * dx - grain.sin * dy + phase.u, grain.sin * dx + grain.cos * dy + phase.v);
      const figure = inBright ? bright : dark;
      for (let channel = 0; channel < CHANNELS; channel++) {
        const behind = background[channel]! + slope.x[channel]! * column + slope.y[channel]! * row;
        pixels[i++] = behind + share * (figure[channel]! - behind);
      }
    }
  }
  if (random.uniform(0, 1) < 0.35) cover(random, pixels, offset);
  random.addNoise(pixels, offset, offset + IMAGE_VALUES, noiseLevel(random));
}

/** The figure's centre on one axis: most of the figure is in the image. */
function place(random: Random, radius: number): number {
  const margin = 0.75 * radius;
  return random.uniform(margin, SIDE - 1 - margin);
}

/** Mostly moderate; one image in twelve drowns in it. */
function noiseLevel(random: Random): number {
  return random.below(12) === 0 ? random.uniform(0.6, 1.5) : random.uniform(0.05, 0.3);
}

/** A bar of one colour across the image, in front of everything. */
function cover(random: Random, pixels: Float32Array, offset: number): void {
  const width = random.uniform(2, 6);
  const { cos, sin } = turnBy(random.uniform(0, 2 * Math.PI), 1);
  const middle = random.uniform(-8, 8);
  const paint = colour(random, 0.8);
  for (let row = 0, i = offset; row < SIDE; row++) {
    for (let column = 0; column < SIDE; column++, i += CHANNELS) {
      const across = cos * (column - SIDE / 2) + sin * (row - SIDE / 2) - middle;
      if (Math.abs(across) > width / 2) continue;
      for (let channel = 0; channel < CHANNELS; channel++) pixels[i + channel] = paint[channel]!;
    }
  }
}

function turnBy(angle: number, scale: number): { cos: number; sin: number } {
  return { cos: scale * Math.cos(angle), sin: scale * Math.sin(angle) };
}

function colour(random: Random, range: number): number[] {
  return Array.from({ length: CHANNELS }, () => random.uniform(-range, range));
}

/** A colour that differs from another by at least this much in the mean of the channels. */
function farFrom(random: Random, other: readonly number[], distance: number): number[] {
  for (;;) {
    const candidate = colour(random, 1);
    const difference = candidate.reduce((sum, value, i) => sum + Math.abs(value - other[i]!), 0) / CHANNELS;
    if (difference >= distance) return candidate;
  }
}
