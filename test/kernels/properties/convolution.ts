import * as k from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import { integer, oneOf, type Property, property, tensorOf } from '../arbitraries';
import type { KernelCase, TensorSpec } from '../harness';

type Format = 'NHWC' | 'NCHW';
const { backend_util } = k;

/** One 2-D convolution: sizes and how the filter moves. */
interface Conv {
  readonly format: Format;
  readonly x: number[];
  readonly filter: number[];
  readonly attrs: {
    readonly strides: [number, number];
    readonly pad: unknown;
    readonly dataFormat: Format;
    readonly dilations: [number, number];
    readonly dimRoundingMode: 'floor' | 'round' | 'ceil' | undefined;
  };
}

const rounding = oneOf('floor' as const, 'round' as const, 'ceil' as const);

/**
 * Convolutions that fit. tfjs-backend-cpu takes numeric padding of both axes by the filter's height and vertical stride, so there both
 * are square; test/kernels/semantics.test.ts has what is not.
 */
function convs({
  depthwise = false,
  dilated = true,
  channelsFirst = true,
  gradient = false,
} = {}): fc.Arbitrary<Conv> {
  const sizes = fc.tuple(integer(1, 2), integer(3, 7), integer(3, 7), integer(1, 3), integer(1, 3));
  const filters = fc.tuple(integer(1, 3), integer(1, 3));
  const strides = fc.tuple(integer(1, 3), integer(1, 3));
  const sides = fc.tuple(integer(0, 2), integer(0, 2));
  return fc
    .tuple(
      sizes,
      filters,
      strides,
      oneOf('valid', 'same', 'number', 'explicit'),
      integer(0, 2),
      fc.tuple(sides, sides),
      rounding,
      oneOf<Format>(...(channelsFirst ? (['NHWC', 'NCHW'] as const) : (['NHWC'] as const))),
      integer(1, dilated ? 2 : 1),
    )
    .map(
      ([
        [batch, height, width, channels, outChannels],
        filter,
        stride,
        kind,
        number,
        explicit,
        mode,
        format,
        dilation,
      ]) => {
        const square = kind === 'number';
        const [fh, fw] = square ? [filter[0], filter[0]] : filter;
        const moves: [number, number] = dilation > 1 ? [1, 1] : square ? [stride[0], stride[0]] : stride;
        const none: [number, number] = [0, 0];
        const spatial = explicit as [[number, number], [number, number]];
        const pad =
          kind === 'number'
            ? number
            : kind === 'explicit'
              ? format === 'NHWC'
                ? [none, ...spatial, none]
                : [none, none, ...spatial]
              : kind;
        const isNumeric = kind === 'number' || kind === 'explicit';
        return {
          format,
          x: format === 'NHWC' ? [batch, height, width, channels] : [batch, channels, height, width],
          filter: [fh, fw, channels, outChannels],
          attrs: {
            strides: moves,
            pad,
            dataFormat: format,
            dilations: [dilation, dilation] as [number, number],
            // A gradient is not told how the number of positions was rounded.
            dimRoundingMode: isNumeric && !gradient ? mode : undefined,
          },
        };
      },
    )
    .filter((conv) => fits(conv, depthwise));
}

function infoOf({ x, filter, attrs }: Conv, depthwise: boolean) {
  return backend_util.computeConv2DInfo(
    x as [number, number, number, number],
    filter as [number, number, number, number],
    attrs.strides,
    attrs.dilations,
    attrs.pad as 'valid',
    attrs.dimRoundingMode,
    depthwise,
    backend_util.convertConv2DDataFormat(attrs.dataFormat),
  );
}

function fits(conv: Conv, depthwise: boolean): boolean {
  const { outHeight, outWidth } = infoOf(conv, depthwise);
  return outHeight > 0 && outWidth > 0;
}

function forward(kernel: string, options: Parameters<typeof convs>[0]): Property {
  return property(
    kernel,
    convs(options).chain((conv) =>
      fc
        .tuple(tensorOf('float32', conv.x), tensorOf('float32', conv.filter))
        .map(([x, filter]) => ({ inputs: { x, filter }, attrs: conv.attrs })),
    ),
  );
}

function backward(kernel: string, depthwise: boolean, toInput: boolean): Property {
  const options = { depthwise, dilated: false, channelsFirst: !depthwise, gradient: true };
  return property(
    kernel,
    convs(options).chain((conv): fc.Arbitrary<KernelCase> => {
      const dy = tensorOf('float32', infoOf(conv, depthwise).outShape);
      if (toInput) {
        return fc
          .tuple(dy, tensorOf('float32', conv.filter))
          .map(([dy, filter]) => ({ inputs: { dy, filter }, attrs: { ...conv.attrs, inputShape: conv.x } }));
      }
      return fc
        .tuple(dy, tensorOf('float32', conv.x))
        .map(([dy, x]) => ({ inputs: { dy, x }, attrs: { ...conv.attrs, filterShape: conv.filter } }));
    }),
  );
}

const activation = oneOf('linear', 'relu', 'relu6', 'elu', 'sigmoid', 'leakyrelu', 'prelu');

function fused(kernel: string, depthwise: boolean): Property {
  return property(
    kernel,
    fc
      .tuple(convs({ depthwise, channelsFirst: !depthwise }), activation, fc.boolean(), fc.boolean())
      .chain(([conv, name, biased, onePerChannel]) => {
        const channels = depthwise ? conv.filter[2]! * conv.filter[3]! : conv.filter[3]!;
        const weights = tensorOf('float32', onePerChannel ? [channels] : []);
        return fc
          .tuple(tensorOf('float32', conv.x), tensorOf('float32', conv.filter), weights, weights)
          .map(([x, filter, bias, alpha]) => ({
            inputs: {
              x,
              filter,
              ...(biased ? { bias } : {}),
              ...(name === 'prelu' ? { preluActivationWeights: alpha } : {}),
            } as Record<string, TensorSpec>,
            attrs: { ...conv.attrs, activation: name, leakyreluAlpha: 0.25 },
          }));
      }),
  );
}

const conv3d = fc
  .tuple(
    fc.tuple(integer(1, 2), integer(3, 5), integer(3, 5), integer(3, 5), integer(1, 2), integer(1, 2)),
    fc.tuple(integer(1, 2), integer(1, 3), integer(1, 2)),
    fc.tuple(integer(1, 2), integer(1, 2), integer(1, 2)),
    oneOf('valid', 'same'),
  )
  // Where a stride is longer than the filter, tfjs-backend-cpu pads SAME by a negative number.
  .filter(([, filter, strides]) => strides.every((stride, axis) => stride <= filter[axis]!))
  .map(([[batch, depth, height, width, channels, outChannels], filter, strides, pad]) => ({
    x: [batch, depth, height, width, channels] as [number, number, number, number, number],
    filter: [...filter, channels, outChannels] as [number, number, number, number, number],
    attrs: {
      strides,
      pad: pad as 'valid' | 'same',
      dataFormat: 'NDHWC' as const,
      dilations: [1, 1, 1] as [number, number, number],
    },
  }));

type Conv3D = typeof conv3d extends fc.Arbitrary<infer T> ? T : never;

function outShape3D({ x, filter, attrs }: Conv3D): number[] {
  return backend_util.computeConv3DInfo(x, filter, attrs.strides, attrs.dilations, attrs.pad).outShape;
}

export const convolutionProperties: Property[] = [
  forward(k.Conv2D, {}),
  backward(k.Conv2DBackpropFilter, false, false),
  backward(k.Conv2DBackpropInput, false, true),
  // tfjs-backend-cpu takes a depthwise convolution with channels first for one with channels last.
  forward(k.DepthwiseConv2dNative, { depthwise: true, channelsFirst: false }),
  backward(k.DepthwiseConv2dNativeBackpropFilter, true, false),
  backward(k.DepthwiseConv2dNativeBackpropInput, true, true),
  fused(k.FusedConv2D, false),
  fused(k.FusedDepthwiseConv2D, true),
  property(
    k.Conv3D,
    fc.tuple(conv3d, integer(1, 2)).chain(([conv, dilation]) =>
      fc.tuple(tensorOf('float32', conv.x), tensorOf('float32', conv.filter)).map(([x, filter]) => ({
        inputs: { x, filter },
        attrs:
          dilation === 1
            ? conv.attrs
            : { ...conv.attrs, pad: 'same', strides: [1, 1, 1], dilations: [dilation, dilation, 1] },
      })),
    ),
  ),
  property(
    k.Conv3DBackpropFilterV2,
    conv3d.chain((conv) =>
      fc.tuple(tensorOf('float32', conv.x), tensorOf('float32', outShape3D(conv))).map(([x, dy]) => ({
        inputs: { x, dy },
        attrs: { strides: conv.attrs.strides, pad: conv.attrs.pad, filterShape: conv.filter },
      })),
    ),
  ),
  property(
    k.Conv3DBackpropInputV2,
    conv3d.chain((conv) =>
      fc
        .tuple(tensorOf('float32', outShape3D(conv)), tensorOf('float32', conv.filter))
        .map(([dy, filter]) => ({
          inputs: { dy, filter },
          attrs: { strides: conv.attrs.strides, pad: conv.attrs.pad, inputShape: conv.x },
        })),
    ),
  ),
];
