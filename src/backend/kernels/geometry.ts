/** Number of output positions, rounded as tfjs's `dimRoundingMode` says; without one, cut off. */
function round(value: number, mode: 'floor' | 'round' | 'ceil' | undefined): number {
  return mode === undefined || mode === null ? Math.trunc(value) : Math[mode](value);
}

/** tfjs's `pad`: a TensorFlow padding, one number for all sides, or [before, after] for every axis. */
export type Pad = 'valid' | 'same' | number | ReadonlyArray<readonly [number, number]>;

/** Padding in TensorFlow's terms; `sides` holds [before, after] of each spatial axis. */
export interface Padding {
  readonly kind: 'SAME' | 'VALID' | 'EXPLICIT';
  readonly sides: ReadonlyArray<readonly [number, number]>;
}

/** A window that moves over an image or volume. All lists have one entry per spatial axis. */
export interface Window {
  readonly filter: readonly number[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
}

/**
 * Padding of a convolution or pooling over the spatial sizes. tfjs may round the number of output positions up: then the last
 * window reaches beyond the padding, so there has to be more of it. (tfjs-core's `computeConv2DInfo` takes numeric padding of
 * all axes by the filter's height and vertical stride; here each axis has its own.)
 */
export function resolvePadding(
  pad: Pad,
  sizes: readonly number[],
  { filter, strides, dilations }: Window,
  rounding: 'floor' | 'round' | 'ceil' | undefined,
  firstSpatialAxis: number,
): Padding {
  if (pad === 'same' || pad === 'valid') {
    return { kind: pad === 'same' ? 'SAME' : 'VALID', sides: sizes.map(() => [0, 0]) };
  }
  const sides = sizes.map((size, i): [number, number] => {
    const [before, after] = typeof pad === 'number' ? [pad, pad] : pad[firstSpatialAxis + i]!;
    const extent = (filter[i]! - 1) * dilations[i]! + 1;
    const positions = round((size + before + after - extent) / strides[i]! + 1, rounding);
    return [before, Math.max(0, (positions - 1) * strides[i]! + extent - size - before)];
  });
  return {
    kind: sides.every(([before, after]) => before === 0 && after === 0) ? 'VALID' : 'EXPLICIT',
    sides,
  };
}

/** How often the window fits along each spatial axis; 0 or less where it does not. */
export function countPositions(
  sizes: readonly number[],
  { filter, strides, dilations }: Window,
  { kind, sides }: Padding,
): number[] {
  return sizes.map((size, axis) => {
    const stride = strides[axis]!;
    if (kind === 'SAME') return Math.ceil(size / stride);
    const [before, after] = sides[axis]!;
    const extent = (filter[axis]! - 1) * dilations[axis]! + 1;
    return Math.floor((size + before + after - extent) / stride) + 1;
  });
}

/** Whether the window meets cells of the image anywhere: padding may be so wide, and strides so long, that it never does. */
export function meetsImage(sizes: readonly number[], window: Window, padding: Padding): boolean {
  if (padding.kind !== 'EXPLICIT') return true;
  const counts = countPositions(sizes, window, padding);
  return sizes.every((size, axis) => {
    for (let position = 0; position < counts[axis]!; position++) {
      for (let i = 0; i < window.filter[axis]!; i++) {
        const cell = position * window.strides[axis]! + i * window.dilations[axis]! - padding.sides[axis]![0];
        if (cell >= 0 && cell < size) return true;
      }
    }
    return false;
  });
}

/** The padding SAME, side by side. */
export function explicitSame(sizes: readonly number[], { filter, strides, dilations }: Window): Padding {
  const sides = sizes.map((size, i): [number, number] => {
    const extent = (filter[i]! - 1) * dilations[i]! + 1;
    const total = Math.max(0, (Math.ceil(size / strides[i]!) - 1) * strides[i]! + extent - size);
    return [Math.floor(total / 2), Math.ceil(total / 2)];
  });
  return { kind: 'EXPLICIT', sides };
}

/** A parameter that tfjs takes as one number or one per axis. */
export function perAxis(value: number | readonly number[] | undefined, axes: number): number[] {
  if (value === undefined || value === null) return new Array<number>(axes).fill(1);
  if (typeof value === 'number') return new Array<number>(axes).fill(value);
  return value.length === 1 ? new Array<number>(axes).fill(value[0]!) : [...value];
}
