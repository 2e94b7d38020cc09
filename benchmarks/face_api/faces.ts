/** A face as face-api finds it, in pixels of the photo. */
export interface Face {
  readonly score: number;
  /** Left, top, width, height. */
  readonly box: readonly number[];
  /** 68 points: x and y in turn. */
  readonly landmarks: readonly number[];
  /** 128 numbers. */
  readonly descriptor: readonly number[];
  readonly age: number;
  readonly gender: string;
  readonly genderProbability: number;
  /** The probability of each expression. */
  readonly expressions: Readonly<Record<string, number>>;
}

/** A photo and its faces, the surest first. */
export interface Photo {
  readonly name: string;
  readonly width: number;
  readonly height: number;
  readonly faces: readonly Face[];
}

/** How the faces that two sides found in a photo differ. */
export interface Agreement {
  /** Whether both found equally many, each at the place of another. */
  readonly sameFaces: boolean;
  /** The largest differences over all faces: of scores, boxes and landmarks (px), ages (years), probabilities. */
  readonly score: number;
  readonly box: number;
  readonly landmark: number;
  readonly age: number;
  readonly expression: number;
  /** The largest Euclidean distance of two descriptors of the same face. */
  readonly descriptor: number;
  readonly sameGender: boolean;
}

/** Compares each face with the one at its place; faces may have come in another order. */
export function compare(ours: readonly Face[], theirs: readonly Face[]): Agreement {
  const pairs = ours.flatMap((one) => {
    const other = nearest(one, theirs);
    return other === undefined ? [] : [[one, other] as const];
  });
  const matched = new Set(pairs.map(([, other]) => other));
  const largest = (difference: (one: Face, other: Face) => number) =>
    Math.max(0, ...pairs.map(([one, other]) => difference(one, other)));
  return {
    sameFaces: ours.length === theirs.length && matched.size === theirs.length,
    score: largest((one, other) => Math.abs(one.score - other.score)),
    box: largest((one, other) => largestDifference(one.box, other.box)),
    landmark: largest((one, other) => largestDistance(one.landmarks, other.landmarks)),
    age: largest((one, other) => Math.abs(one.age - other.age)),
    expression: largest((one, other) =>
      largestDifference(Object.values(one.expressions), Object.values(other.expressions)),
    ),
    descriptor: largest((one, other) => distance(one.descriptor, other.descriptor)),
    sameGender: pairs.every(([one, other]) => one.gender === other.gender),
  };
}

/** The face whose box lies nearest, if it overlaps. */
function nearest(face: Face, faces: readonly Face[]): Face | undefined {
  const [left, top, width, height] = face.box as [number, number, number, number];
  const far = ({ box: [x, y] }: Face) => Math.hypot(x! - left, y! - top);
  const found = [...faces].sort((a, b) => far(a) - far(b))[0];
  return found !== undefined && far(found) < Math.min(width, height) / 2 ? found : undefined;
}

function largestDifference(a: readonly number[], b: readonly number[]): number {
  return Math.max(...a.map((value, i) => Math.abs(value - b[i]!)));
}

function largestDistance(a: readonly number[], b: readonly number[]): number {
  let largest = 0;
  for (let i = 0; i < a.length; i += 2)
    largest = Math.max(largest, Math.hypot(a[i]! - b[i]!, a[i + 1]! - b[i + 1]!));
  return largest;
}

function distance(a: readonly number[], b: readonly number[]): number {
  return Math.hypot(...a.map((value, i) => value - b[i]!));
}
