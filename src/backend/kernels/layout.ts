import type { Attributes } from '../op_attributes';
import type { CallOperand, KernelCall } from './call';
import { type Padding, perAxis, resolvePadding, type Window } from './geometry';
import type { Attrs } from './table';

/**
 * How images (or volumes) are laid out for TensorFlow. Its CPU kernels want channels last, so there channels-first tensors are
 * transposed on the way in and out; its GPU kernels take both.
 */
export class Layout {
  /** TensorFlow's name of the layout that its ops get. */
  readonly format: string;
  /** Whether tensors of the caller are transposed for the op. */
  readonly transposed: boolean;

  constructor(
    private readonly call: KernelCall,
    /** Number of spatial axes. */
    readonly axes: 2 | 3,
    /** `NHWC`, `NCHW`, `NDHWC` or `NCDHW`, as the caller has it; the default is channels last. */
    dataFormat: string | undefined,
    channelsFirstOnGpu = true,
  ) {
    const channelsFirst = dataFormat?.[1] === 'C';
    this.callerChannelsFirst = channelsFirst;
    this.transposed = channelsFirst && !(channelsFirstOnGpu && call.onGpu);
    const first = channelsFirst && !this.transposed;
    this.format = axes === 2 ? (first ? 'NCHW' : 'NHWC') : first ? 'NCDHW' : 'NDHWC';
  }

  readonly callerChannelsFirst: boolean;

  /** Of the caller's tensors. */
  get firstSpatialAxis(): number {
    return this.callerChannelsFirst ? 2 : 1;
  }

  /** The caller's tensor as the op wants it. */
  enter(x: CallOperand): CallOperand {
    return this.transposed ? this.call.transpose(x, this.toChannelsLast()) : x;
  }

  /** The op's result as the caller wants it. */
  leave(x: CallOperand): CallOperand {
    return this.transposed ? this.call.transpose(x, this.toChannelsFirst()) : x;
  }

  /** The caller's shape as the op sees it. */
  shape(shape: readonly number[]): number[] {
    return this.transposed ? this.toChannelsLast().map((axis) => shape[axis]!) : [...shape];
  }

  /** The spatial sizes of a tensor of the caller. */
  spatial(shape: readonly number[]): number[] {
    return shape.slice(this.firstSpatialAxis, this.firstSpatialAxis + this.axes);
  }

  padding(attrs: Attrs, sizes: readonly number[], window: Window): Padding {
    return resolvePadding(attrs.pad, sizes, window, attrs.dimRoundingMode, this.firstSpatialAxis);
  }

  /** Numbers of the spatial axes in a list for all axes of the op's operand. */
  spread(values: readonly number[], other = 1): number[] {
    return this.format.endsWith('C') ? [other, ...values, other] : [other, other, ...values];
  }

  /** [before, after] of the spatial axes in a list for all axes of the op's operand. */
  spreadSides({ sides }: Padding): Array<readonly [number, number]> {
    const none = [0, 0] as const;
    return this.format.endsWith('C') ? [none, ...sides, none] : [none, none, ...sides];
  }

  private toChannelsLast(): number[] {
    return this.axes === 2 ? [0, 2, 3, 1] : [0, 2, 3, 4, 1];
  }

  private toChannelsFirst(): number[] {
    return this.axes === 2 ? [0, 3, 1, 2] : [0, 4, 1, 2, 3];
  }
}

/** The window of a convolution, whose filter is spatial axes first, or of a pooling. */
export function windowOf(attrs: Attrs, filter: readonly number[]): Window {
  const axes = filter.length;
  return { filter, strides: perAxis(attrs.strides, axes), dilations: perAxis(attrs.dilations, axes) };
}

/** Attributes that say where an op's window goes, for ops that have `explicit_paddings`. */
export function windowAttributes(
  layout: Layout,
  { strides, dilations }: Window,
  padding: Padding,
): Attributes {
  const attributes: Record<string, string | number[]> = {
    strides: layout.spread(strides),
    padding: padding.kind,
    dilations: layout.spread(dilations),
    data_format: layout.format,
  };
  if (padding.kind === 'EXPLICIT') attributes.explicit_paddings = layout.spreadSides(padding).flat();
  return attributes;
}
