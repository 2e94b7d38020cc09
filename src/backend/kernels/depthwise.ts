import * as k from '@tensorflow/tfjs-core';
import { DT } from '../../dtypes';
import { type CallOperand, dtypeOf, type KernelCall, type Value } from './call';
import { dilateFilter } from './dilated_filter';
import { filterGradientUnlessEmpty, runUnlessEmpty } from './empty_result';
import { countPositions, explicitSame, type Padding, type Window } from './geometry';
import { Layout, windowAttributes, windowOf } from './layout';
import { withoutSkippedCells } from './single_cell';
import { type Attrs, custom, type KernelRow } from './table';

/** Depthwise convolutions and their gradients; the fused one is in fused.ts. */
export const depthwiseKernels: KernelRow[] = [
  custom(k.DepthwiseConv2dNative, (call) => {
    const { x, filter } = call.inputs;
    const layout = new Layout(call, 2, call.attrs.dataFormat, false);
    return call.result(layout.leave(depthwiseConv2d(call, layout, x, filter, call.attrs)), x.dtype);
  }),
  custom(k.DepthwiseConv2dNativeBackpropInput, (call) => {
    const { dy, filter } = call.inputs;
    const { inputShape } = call.attrs;
    const steps = new EvenSteps(call, inputShape, filter.shape);
    const dx = call.run(
      'DepthwiseConv2dNativeBackpropInput',
      [call.constant(inputShape), filter, steps.spread(dy)],
      steps.attributes,
    );
    return call.result(dx);
  }),
  custom(k.DepthwiseConv2dNativeBackpropFilter, (call) => {
    const { x, dy } = call.inputs;
    const { filterShape } = call.attrs;
    const steps = new EvenSteps(call, x.shape, filterShape);
    const op = 'DepthwiseConv2dNativeBackpropFilter';
    const results = dy.shape.includes(0) ? dy : steps.spread(dy);
    const { image, attributes } = steps.ofFilter(x);
    return call.result(filterGradientUnlessEmpty(call, op, [image, results], filterShape, attributes));
  }),
];

/** A depthwise 2-D convolution in the layout's format, which is channels last. */
export function depthwiseConv2d(
  call: KernelCall,
  layout: Layout,
  x: CallOperand,
  filter: CallOperand,
  attrs: Attrs,
): CallOperand {
  const image = layout.enter(dtypeOf(x) === DT.INT32 ? call.cast(x, 'float64') : x);
  const weights = dtypeOf(filter) === DT.INT32 ? call.cast(filter, 'float64') : filter;
  const steps = new EvenSteps(call, image.shape, filter.shape, {
    ...attrs,
    pad: padLastChannels(layout, attrs),
  });
  // TensorFlow's GPU kernel computes these wrongly.
  const isDilated = call.onGpu && steps.window.dilations.some((dilation) => dilation > 1);
  const y = runUnlessEmpty(
    call,
    'DepthwiseConv2dNative',
    [image, isDilated ? dilateFilter(call, weights, steps.window) : weights],
    isDilated ? { ...steps.attributes, dilations: [1, 1, 1, 1] } : steps.attributes,
    layout,
    steps.positions,
    filter.shape[2]! * filter.shape[3]!,
  );
  return steps.thin(y);
}

/** Padding side by side comes in the order of the caller's axes. */
function padLastChannels(layout: Layout, { pad }: Attrs): unknown {
  return Array.isArray(pad) && layout.transposed ? [pad[0], pad[2], pad[3], pad[1]] : pad;
}

/**
 * The steps of a depthwise convolution. TensorFlow's are the same in both directions; others are taken by smaller steps, of whose
 * results some are left out.
 */
class EvenSteps {
  readonly window: Window;
  readonly attributes: ReturnType<typeof windowAttributes>;
  /** Every which result along each axis is wanted. */
  private readonly factors: number[];
  /** How many results lie between the first and the last wanted one, these included. */
  private readonly extent: number[];
  /** How many there are. */
  readonly positions: number[];
  private readonly padding: Padding;
  private readonly layout: Layout;

  constructor(
    private readonly call: KernelCall,
    imageShape: number[],
    filterShape: number[],
    attrs: Attrs = call.attrs,
  ) {
    this.layout = new Layout(call, 2, 'NHWC');
    const wanted = windowOf(attrs, filterShape.slice(0, 2));
    const sizes = this.layout.spatial(imageShape);
    const padding = this.layout.padding(attrs, sizes, wanted);
    const [down, right] = wanted.strides as [number, number];
    const step = greatestCommonDivisor(down, right);
    const even = down === right;
    this.padding = even || padding.kind !== 'SAME' ? padding : explicitSame(sizes, wanted);
    this.window = even ? wanted : { ...wanted, strides: [step, step] };
    this.factors = wanted.strides.map((stride) => stride / step);
    this.extent = countPositions(sizes, wanted, padding).map(
      (count, i) => (count - 1) * this.factors[i]! + 1,
    );
    this.positions = countPositions(sizes, this.window, this.padding);
    this.attributes = windowAttributes(this.layout, this.window, this.padding);
  }

  /** The gradient of the filter, over an input. */
  ofFilter(x: CallOperand): { image: CallOperand; attributes: EvenSteps['attributes'] } {
    const convolved = { x, window: this.window, padding: this.padding };
    const { x: image, window, padding } = withoutSkippedCells(this.call, convolved);
    return { image, attributes: windowAttributes(this.layout, window, padding) };
  }

  /** The wanted ones out of all results. */
  thin(y: Value): CallOperand {
    if (this.isEven || y.shape.includes(0)) return y;
    const { shape } = y;
    return this.call.run('StridedSlice', [y, ...this.slice(shape[0]!, shape[3]!)]);
  }

  /** Gradients of the wanted results as gradients of all of them. */
  spread(dy: CallOperand): CallOperand {
    if (this.isEven) return dy;
    const [batch, , , channels] = dy.shape as [number, number, number, number];
    const all = this.call.constant([batch, ...this.positions, channels]);
    return this.call.run('StridedSliceGrad', [all, ...this.slice(batch, channels), dy]);
  }

  private get isEven(): boolean {
    return this.factors.every((factor) => factor === 1);
  }

  private slice(batch: number, channels: number): Value[] {
    return [
      [0, 0, 0, 0],
      [batch, ...this.extent, channels],
      [1, ...this.factors, 1],
    ].map((values) => this.call.constant(values));
  }
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
