import type { backend_util, TensorInfo } from '@tensorflow/tfjs-core';
import { TftrtError } from '../../errors';
import type { CallOperand, KernelCall, Value } from './call';

/** x where it is not negative (or NaN), alpha · x where it is. */
export function prelu(call: KernelCall, x: CallOperand, alpha: CallOperand): Value {
  const negative = call.run('Less', [x, call.scalar(0, 'float32')]);
  return call.select(negative, call.run('Mul', [x, alpha]), x);
}

/** What a fused kernel applies to its result. */
export function activate(
  call: KernelCall,
  x: CallOperand,
  activation: backend_util.Activation | undefined,
  preluWeights: TensorInfo | Value | undefined,
  leakyreluAlpha: number | undefined,
): CallOperand {
  switch (activation) {
    case undefined:
    case null:
    case 'linear':
      return x;
    case 'relu':
      return call.run('Relu', [x]);
    case 'relu6':
      return call.run('Relu6', [x]);
    case 'elu':
      return call.run('Elu', [x]);
    case 'sigmoid':
      return call.run('Sigmoid', [x]);
    case 'leakyrelu':
      return call.run('LeakyRelu', [x], { alpha: leakyreluAlpha ?? 0.2 });
    case 'prelu':
      return prelu(call, x, preluWeights!);
    default:
      throw new TftrtError(
        'TFTRT_UNIMPLEMENTED',
        `The fused activation '${activation}' is unknown; known are linear, relu, relu6, elu, sigmoid, leakyrelu and prelu.`,
      );
  }
}
