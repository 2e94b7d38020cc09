/** Landmarks that follow a line of the face, from the first to the last. */
interface Contour {
  readonly from: number;
  readonly to: number;
  readonly closed: boolean;
}

/** The lines through the 68 landmarks: jaw, brows, nose, eyes, lips outside and inside. */
export const contours: readonly Contour[] = [
  { from: 0, to: 16, closed: false },
  { from: 17, to: 21, closed: false },
  { from: 22, to: 26, closed: false },
  { from: 27, to: 30, closed: false },
  { from: 31, to: 35, closed: false },
  { from: 36, to: 41, closed: true },
  { from: 42, to: 47, closed: true },
  { from: 48, to: 59, closed: true },
  { from: 60, to: 67, closed: true },
];
