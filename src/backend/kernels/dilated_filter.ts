import type { CallOperand, KernelCall } from './call';
import type { Window } from './geometry';

/** The filter with zeros between its elements: a convolution with it is a dilated one. */
export function dilateFilter(call: KernelCall, filter: CallOperand, { dilations }: Window): CallOperand {
  let result = filter;
  dilations.forEach((dilation, axis) => {
    if (dilation === 1) return;
    const { shape } = result;
    const size = shape[axis]!;
    const inner = shape.slice(axis + 1).reduce((product, n) => product * n, 1);
    const outer = shape.slice(0, axis).reduce((product, n) => product * n, 1);
    // After each element of the axis come dilation - 1 zeros; those after the last are cut off.
    const rows = call.reshape(result, [outer, size, 1, inner]);
    const padded = call.run('Pad', [
      rows,
      call.constant([0, 0, 0, 0, 0, dilation - 1, 0, 0], 'int32', [4, 2]),
    ]);
    const extent = (size - 1) * dilation + 1;
    const cut = call.run('Slice', [
      call.reshape(padded, [outer, size * dilation, inner]),
      call.constant([0, 0, 0]),
      call.constant([outer, extent, inner]),
    ]);
    result = call.reshape(cut, [...shape.slice(0, axis), extent, ...shape.slice(axis + 1)]);
  });
  return result;
}
