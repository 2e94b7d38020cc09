import * as k from '@tensorflow/tfjs-core';
import type { CallOperand, KernelCall } from './call';
import { dilateFilter } from './dilated_filter';
import { filterGradientUnlessEmpty, runUnlessEmpty, zeros } from './empty_result';
import { countPositions, meetsImage, type Padding, type Window } from './geometry';
import { Layout, windowAttributes, windowOf } from './layout';
import { withoutSkippedCells } from './single_cell';
import { withoutStrideAcross } from './single_column';
import { type Attrs, custom, type KernelRow } from './table';

/**
 * Convolutions and their gradients. The fused ones are in fused.ts, depthwise ones in depthwise.ts; what tfjs calls dilation2d
 * (dilation.ts) is none.
 */
export const convolutionKernels: KernelRow[] = [
  custom(k.Conv2D, (call) => {
    const { x, filter } = call.inputs;
    const layout = new Layout(call, 2, call.attrs.dataFormat);
    return call.result(layout.leave(conv2d(call, layout, x, filter, call.attrs)), x.dtype);
  }),
  custom(k.Conv2DBackpropInput, (call) => {
    const { dy, filter } = call.inputs;
    const layout = new Layout(call, 2, call.attrs.dataFormat);
    const plan = new Plan(call, layout, call.attrs.inputShape, filter.shape);
    if (!plan.meetsImage) return call.result(zeros(call, call.attrs.inputShape));
    const dx = call.run(
      'Conv2DBackpropInput',
      [call.constant(plan.shape), filter, plan.firstPositions(layout.enter(dy))],
      plan.attributes,
    );
    return call.result(layout.leave(dx));
  }),
  custom(k.Conv2DBackpropFilter, (call) => {
    const { x, dy } = call.inputs;
    const { filterShape, dataFormat } = call.attrs;
    const layout = new Layout(call, 2, dataFormat);
    const plan = new Plan(call, layout, x.shape, filterShape);
    if (!plan.meetsImage) return call.result(zeros(call, filterShape));
    const { image, attributes } = plan.ofFilter(layout.enter(x));
    const operands = [image, layout.enter(dy)] as const;
    return call.result(
      filterGradientUnlessEmpty(call, 'Conv2DBackpropFilter', operands, filterShape, attributes),
    );
  }),

  custom(k.Conv3D, (call) => {
    const { dtype } = call.inputs.x;
    // TensorFlow has this one for floats only; doubles hold every int32.
    const [x, filter] = [call.inputs.x, call.inputs.filter].map((input) =>
      call.cast(input, dtype === 'int32' ? 'float64' : 'float32'),
    ) as [CallOperand, CallOperand];
    const layout = new Layout(call, 3, call.attrs.dataFormat);
    const plan = new Plan(call, layout, x.shape, filter.shape);
    const { image, window, attributes } = plan.forward(layout.enter(x));
    // On the CPU, only oneDNN's kernel knows dilations, which is for float32.
    const dilates = call.onGpu || (dtype !== 'int32' && call.backend.runtime.addon.oneDnnEnabled());
    const y = runUnlessEmpty(
      call,
      'Conv3D',
      [image, dilates ? filter : dilateFilter(call, filter, window)],
      dilates ? attributes : { ...attributes, dilations: [1, 1, 1, 1, 1] },
      layout,
      plan.positions(),
      filter.shape[4]!,
    );
    return call.result(layout.leave(y), dtype);
  }),
  custom(k.Conv3DBackpropInputV2, (call) => {
    const { dy, filter } = call.inputs;
    const plan = new Plan(call, new Layout(call, 3, 'NDHWC'), call.attrs.inputShape, filter.shape);
    return call.result(
      call.run('Conv3DBackpropInputV2', [call.constant(plan.shape), filter, dy], plan.attributes),
    );
  }),
  custom(k.Conv3DBackpropFilterV2, (call) => {
    const { x, dy } = call.inputs;
    const { filterShape } = call.attrs;
    const plan = new Plan(call, new Layout(call, 3, 'NDHWC'), x.shape, filterShape);
    return call.result(
      filterGradientUnlessEmpty(call, 'Conv3DBackpropFilterV2', [x, dy], filterShape, plan.attributes),
    );
  }),
];

/** A 2-D convolution in the layout's format. */
export function conv2d(
  call: KernelCall,
  layout: Layout,
  x: CallOperand,
  filter: CallOperand,
  attrs: Attrs,
): CallOperand {
  const plan = new Plan(call, layout, x.shape, filter.shape, attrs);
  const { image, attributes } = plan.forward(layout.enter(x));
  return runUnlessEmpty(
    call,
    'Conv2D',
    [image, filter],
    attributes,
    layout,
    plan.positions(),
    filter.shape[3]!,
    plan.meetsImage,
  );
}

/** What a convolution and its gradients have in common. */
class Plan {
  private readonly window: Window;
  readonly attributes: ReturnType<typeof windowAttributes>;
  /** The input's shape as the op sees it. */
  readonly shape: number[];
  private readonly padding: Padding;
  readonly meetsImage: boolean;

  constructor(
    private readonly call: KernelCall,
    private readonly layout: Layout,
    inputShape: readonly number[],
    filterShape: readonly number[],
    attrs: Attrs = call.attrs,
  ) {
    this.window = windowOf(attrs, filterShape.slice(0, layout.axes));
    const sizes = layout.spatial(inputShape);
    this.padding = layout.padding(attrs, sizes, this.window);
    this.meetsImage = meetsImage(sizes, this.window, this.padding);
    this.attributes = windowAttributes(layout, this.window, this.padding);
    this.shape = layout.shape(inputShape);
  }

  /** The convolution itself, of an input in the layout's format. */
  forward(x: CallOperand): { image: CallOperand; window: Window; attributes: Plan['attributes'] } {
    const convolved = { x, window: this.window, padding: this.padding };
    const { x: image, window, padding } = withoutStrideAcross(this.call, convolved);
    const attributes = image === x ? this.attributes : windowAttributes(this.layout, window, padding);
    return { image, window, attributes };
  }

  /** The gradient of the filter, over an input in the layout's format. */
  ofFilter(x: CallOperand): { image: CallOperand; attributes: Plan['attributes'] } {
    const convolved = { x, window: this.window, padding: this.padding };
    const { x: image, window, padding } = withoutSkippedCells(this.call, convolved);
    return { image, attributes: windowAttributes(this.layout, window, padding) };
  }

  /** The number of results along each spatial axis; none or less where the window does not fit. */
  positions(): number[] {
    const first = this.layout.format.endsWith('C') ? 1 : 2;
    return countPositions(this.shape.slice(first, first + this.layout.axes), this.window, this.padding);
  }

  /** A transposed convolution may be given more than its output has room for; tfjs passes over the rest. */
  firstPositions(dy: CallOperand): CallOperand {
    const first = this.layout.format.endsWith('C') ? 1 : 2;
    const size = [...dy.shape];
    this.positions().forEach((count, axis) => {
      size[first + axis] = Math.min(size[first + axis]!, count);
    });
    if (size.every((length, axis) => length === dy.shape[axis])) return dy;
    return this.call.run('Slice', [dy, this.call.constant(size.map(() => 0)), this.call.constant(size)]);
  }
}
