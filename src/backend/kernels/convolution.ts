import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as k from '@tensorflow/tfjs-core';
import type { CallOperand, KernelCall, Value } from './call';
import { dilateFilter } from './dilated_filter';
import { countPositions } from './geometry';
import { Layout, windowAttributes, windowOf } from './layout';
import { type Attrs, custom, type KernelRow } from './table';

/** Convolutions and their gradients. The fused ones are in fused.ts, depthwise ones in depthwise.ts; dilation
 * (dilation.ts) is another operation. */
export const convolutionKernels: KernelRow[] = [
  custom(k.Conv2D, (call) => {
    const { x, filter } = call.inputs;
    const layout = new Layout(call, 2, call.attrs.dataFormat);
    return call.result(layout.leave(conv2d(call, layout, x, filter, call.attrs)), x.dtype);
  }),
  custom(k.Conv2DBackpropInput, (call) => {
    const { dy, filter } = call.inputs;
    const { attrs } = call;
    const layout = new Layout(call, 2, attrs.dataFormat);
    const window = windowOf(attrs, filter.shape.slice(0, 2));
    const padding = layout.padding(attrs, layout.spatial(attrs.inputShape), window);
    const positions = countPositions(layout.spatial(attrs.inputShape), window, padding);
    const gradient = call.run(
      'Conv2DBackpropInput',
      [
        call.constant(layout.shape(attrs.inputShape)),
        filter,
        firstPositions(call, layout, layout.enter(dy), positions),
      ],
      windowAttributes(layout, window, padding),
    );
    return call.result(layout.leave(gradient));
  }),
  custom(k.Conv2DBackpropFilter, (call) => {
    const { x, dy } = call.inputs;
    const { attrs } = call;
    const layout = new Layout(call, 2, attrs.dataFormat);
    const window = windowOf(attrs, attrs.filterShape.slice(0, 2));
    const padding = layout.padding(attrs, layout.spatial(x.shape), window);
    return call.result(
      call.run(
        'Conv2DBackpropFilter',
        [layout.enter(x), call.constant(attrs.filterShape), layout.enter(dy)],
        windowAttributes(layout, window, padding),
      ),
    );
  }),

  custom(k.Conv3D, (call) => {
    const { x, filter } = call.inputs;
    const { attrs } = call;
    const layout = new Layout(call, 3, attrs.dataFormat);
    const window = windowOf(attrs, filter.shape.slice(0, 3));
    const padding = layout.padding(attrs, layout.spatial(x.shape), window);
    // On the CPU, TensorFlow's kernel knows no dilations.
    const spread = call.onGpu ? filter : dilateFilter(call, filter, window);
    const y = call.run('Conv3D', [layout.enter(x), spread], {
      strides: layout.spread(window.strides),
      padding: padding.kind,
      dilations: layout.spread(call.onGpu ? window.dilations : [1, 1, 1]),
      data_format: layout.format,
    });
    return call.result(layout.leave(y));
  }),
  custom(k.Conv3DBackpropInputV2, (call) => {
    const { dy, filter } = call.inputs;
    const { strides, pad, inputShape } = call.attrs;
    return call.result(
      call.run(
        'Conv3DBackpropInputV2',
        [call.constant(inputShape), filter, dy],
        conv3dAttributes(strides, pad),
      ),
    );
  }),
  custom(k.Conv3DBackpropFilterV2, (call) => {
    const { x, dy } = call.inputs;
    const { strides, pad, filterShape } = call.attrs;
    return call.result(
      call.run('Conv3DBackpropFilterV2', [x, call.constant(filterShape), dy], conv3dAttributes(strides, pad)),
    );
  }),
];

/** A 2-D convolution in the layout's format. */
export function conv2d(
  call: KernelCall,
  layout: Layout,
  x: TensorInfo,
  filter: CallOperand,
  attrs: Attrs,
): Value {
  const window = windowOf(attrs, filter.shape.slice(0, 2));
  const padding = layout.padding(attrs, layout.spatial(x.shape), window);
  return call.run('Conv2D', [layout.enter(x), filter], windowAttributes(layout, window, padding));
}

/** A transposed convolution may be given more than its output has room for; tfjs passes over the rest. */
function firstPositions(
  call: KernelCall,
  layout: Layout,
  dy: CallOperand,
  positions: readonly number[],
): CallOperand {
  const first = layout.format === 'NHWC' ? 1 : 2;
  if (positions.every((count, axis) => dy.shape[first + axis]! <= count)) return dy;
  const size = [...dy.shape];
  positions.forEach((count, axis) => {
    size[first + axis] = Math.min(size[first + axis]!, count);
  });
  return call.run('Slice', [dy, call.constant([0, 0, 0, 0]), call.constant(size)]);
}

function conv3dAttributes(strides: number | number[], pad: string) {
  const [depth, height, width] = typeof strides === 'number' ? [strides, strides, strides] : strides;
  return { strides: [1, depth!, height!, width!, 1], padding: pad.toUpperCase() };
}
