import type { KernelCall } from './call';
import type { Convolved } from './single_column';

/**
 * On the CPU, oneDNN computes the gradients of filters, and the one in TensorFlow 2.17.1 writes outside of its memory where a
 * filter of a single cell skips cells: sooner or later that ends the process. So the cells that such a filter meets are taken
 * out, for it to move over in steps of 1. The layout is channels last.
 */
export function withoutSkippedCells(call: KernelCall, convolved: Convolved): Convolved {
  const { x, window, padding } = convolved;
  const { filter, strides } = window;
  const { sides } = padding;
  const isCell = filter.every((size) => size === 1) && sides.flat().every((side) => side === 0);
  if (call.onGpu || !isCell || strides.every((stride) => stride === 1)) return convolved;
  // Averages of one cell each; several times as fast as StridedSlice.
  const attributes = { ksize: [1, 1, 1, 1], strides: [1, ...strides, 1], padding: 'VALID' };
  return {
    x: call.run('AvgPool', [x], attributes),
    window: { ...window, strides: strides.map(() => 1) },
    padding: { kind: 'VALID', sides },
  };
}
