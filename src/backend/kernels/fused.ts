import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as k from '@tensorflow/tfjs-core';
import { activate } from './activation';
import type { CallOperand, KernelCall } from './call';
import { conv2d } from './convolution';
import { depthwiseConv2d } from './depthwise';
import { Layout } from './layout';
import { matMul } from './matrix';
import { custom, type KernelRow } from './table';

/** A convolution or matrix product, then a bias, then an activation. */
export const fusedKernels: KernelRow[] = [
  custom(k.FusedConv2D, (call) => {
    const layout = new Layout(call, 2, call.attrs.dataFormat);
    return finishConvolution(
      call,
      layout,
      conv2d(call, layout, call.inputs.x, call.inputs.filter, call.attrs),
    );
  }),
  custom(k.FusedDepthwiseConv2D, (call) => {
    const layout = new Layout(call, 2, call.attrs.dataFormat, false);
    return finishConvolution(
      call,
      layout,
      depthwiseConv2d(call, layout, call.inputs.x, call.inputs.filter, call.attrs),
    );
  }),
  custom(k._FusedMatMul, (call) => {
    const { a, b, bias, preluActivationWeights } = call.inputs;
    const { transposeA, transposeB, activation, leakyreluAlpha } = call.attrs;
    const product = matMul(call, a, b, transposeA, transposeB);
    return call.result(
      activate(call, addBias(call, product, bias), activation, preluActivationWeights, leakyreluAlpha),
    );
  }),
];

function finishConvolution(call: KernelCall, layout: Layout, convolved: CallOperand): TensorInfo {
  const { bias, preluActivationWeights } = call.inputs;
  const { activation, leakyreluAlpha } = call.attrs;
  const y = layout.leave(convolved);
  const alongChannels = (weights: TensorInfo | undefined) =>
    // One number per channel: its axis is the third last one of a channels-first result.
    layout.callerChannelsFirst && weights?.shape.length === 1 && weights.shape[0] !== 1
      ? call.reshape(weights, [weights.shape[0]!, 1, 1])
      : weights;
  const biased = addBias(call, y, alongChannels(bias));
  return call.result(
    activate(call, biased, activation, alongChannels(preluActivationWeights) as TensorInfo, leakyreluAlpha),
    call.inputs.x.dtype,
  );
}

function addBias(call: KernelCall, x: CallOperand, bias: CallOperand | undefined): CallOperand {
  if (bias === undefined || bias === null) return x;
  const { shape } = bias;
  return shape.length === 1 && shape[0] === x.shape.at(-1) && x.shape.length > 1
    ? call.run('BiasAdd', [x, bias])
    : call.run('AddV2', [x, bias]);
}
