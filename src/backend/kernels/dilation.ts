import * as k from '@tensorflow/tfjs-core';
import { backend_util } from '@tensorflow/tfjs-core';
import { DT } from '../../dtypes';
import { type CallOperand, dtypeOf, type KernelCall } from './call';
import { perAxis } from './geometry';
import { custom, type FunctionRow, type KernelRow } from './table';

/** Greyscale dilation, a morphological operation, and its gradients. */
export const dilationKernels: KernelRow[] = [
  custom(k.Dilation2D, dilation('Dilation2D')),
  custom(k.Dilation2DBackpropFilter, dilation('Dilation2DBackpropFilter')),
  custom(k.Dilation2DBackpropInput, dilation('Dilation2DBackpropInput')),
];

/** TensorFlow pads by 'same' or not at all: for numbers, the image is padded first, with what no maximum can be. */
function dilation(name: string): FunctionRow['run'] {
  return (call) => {
    const { x, filter, dy } = call.inputs;
    const { strides, dilations, pad } = call.attrs;
    const run = (image: CallOperand, padding: string) =>
      call.run(name, dy === undefined ? [image, filter] : [image, filter, dy], {
        strides: spread(strides),
        rates: spread(dilations),
        padding,
      });
    if (typeof pad === 'string') return call.result(run(x, pad.toUpperCase()));
    const { padInfo } = backend_util.computeDilation2DInfo(
      x.shape,
      filter.shape,
      strides,
      pad,
      'NHWC',
      dilations,
    );
    const { top, bottom, left, right } = padInfo;
    const result = run(padded(call, x, [0, 0, top, bottom, left, right, 0, 0]), 'VALID');
    if (name !== 'Dilation2DBackpropInput') return call.result(result);
    const begin = call.constant([0, top, left, 0]);
    return call.result(call.run('Slice', [result, begin, call.constant(x.shape)]));
  };
}

function padded(call: KernelCall, x: CallOperand, sides: number[]): CallOperand {
  const isInt = dtypeOf(x) === DT.INT32;
  const lowest = call.scalar(isInt ? -(2 ** 30) : -Infinity, isInt ? 'int32' : 'float32');
  return call.run('PadV2', [x, call.constant(sides, 'int32', [4, 2]), lowest]);
}

function spread(values: number | number[]): number[] {
  return [1, ...perAxis(values, 2), 1];
}
