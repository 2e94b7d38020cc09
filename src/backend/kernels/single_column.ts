import type { CallOperand, KernelCall } from './call';
import { countPositions, explicitSame, type Padding, type Window } from './geometry';

/** An input of a convolution, and how the filter moves over it. */
export interface Convolved {
  readonly x: CallOperand;
  readonly window: Window;
  readonly padding: Padding;
}

/**
 * On the CPU, oneDNN computes convolutions, and the one in TensorFlow 2.17.1 is wrong for images (and volumes) of one channel over which
 * the filter moves in one column of steps: if the stride across, which is of no consequence then, is not 1, it reads the wrong cells, even
 * such as lie outside of the tensor. So what that column covers is cut out, and the stride set to 1. The layout is channels last.
 */
export function withoutStrideAcross(call: KernelCall, convolved: Convolved): Convolved {
  const { x, window, padding } = convolved;
  const sizes = x.shape.slice(1, -1);
  const across = sizes.length - 1;
  const columns = countPositions(sizes, window, padding)[across];
  if (call.onGpu || x.shape.at(-1) !== 1 || columns !== 1 || window.strides[across] === 1) return convolved;

  const { sides } = padding.kind === 'SAME' ? explicitSame(sizes, window) : padding;
  const paddings = [[0, 0], ...sides, [0, 0]];
  const padded = call.run('Pad', [x, call.constant(paddings.flat(), 'int32', [paddings.length, 2])]);
  const size = [...padded.shape];
  size[size.length - 2] = (window.filter[across]! - 1) * window.dilations[across]! + 1;
  return {
    x: call.run('Slice', [padded, call.constant(size.map(() => 0)), call.constant(size)]),
    window: { ...window, strides: window.strides.map((stride, axis) => (axis === across ? 1 : stride)) },
    padding: { kind: 'VALID', sides: sizes.map(() => [0, 0]) },
  };
}
