import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as k from '@tensorflow/tfjs-core';
import { util } from '@tensorflow/tfjs-core';
import { custom, type KernelRow, op } from './table';

/** cuDNN takes no smaller one. */
const CUDNN_MIN_EPSILON = 1.001e-5;

const lrn = {
  depth_radius: (attrs: k.LRNAttrs) => attrs.depthRadius,
  bias: (attrs: k.LRNAttrs) => attrs.bias,
  alpha: (attrs: k.LRNAttrs) => attrs.alpha,
  beta: (attrs: k.LRNAttrs) => attrs.beta,
};

/** Normalizations. */
export const normalizationKernels: KernelRow[] = [
  op(k.LRN, 'LRN', ['x'], lrn, { via: { int32: 'float32', bool: 'float32' } }),
  op(k.LRNGrad, 'LRNGrad', ['dy', 'x', 'y'], lrn),
  op(
    k.Softmax,
    'Softmax',
    ['logits'],
    {},
    { via: { int32: 'float32', bool: 'float32' }, result: 'computed' },
  ),

  custom(k.FusedBatchNorm, (call) => {
    const { mean, variance, scale, offset } = call.inputs;
    const { dtype } = call.inputs.x;
    const x = call.cast(call.inputs.x, 'float32');
    const epsilon = call.attrs.varianceEpsilon ?? 0.001;
    util.assert(
      mean.shape.length === variance.shape.length,
      () => 'Batch normalization gradient requires mean and variance to have equal ranks.',
    );
    for (const [name, tensor] of Object.entries({ offset, scale })) {
      util.assert(
        tensor == null || (tensor as TensorInfo).shape.length === mean.shape.length,
        () => `Batch normalization gradient requires mean and ${name} to have equal ranks.`,
      );
    }
    const perChannel = x.shape.length === 4 && mean.shape.length === 1;
    if (perChannel && !(call.onGpu && epsilon < CUDNN_MIN_EPSILON)) {
      const channels = mean.shape[0]!;
      const all = (value: number) =>
        call.run('Fill', [call.constant([channels]), call.scalar(value, 'float32')]);
      return call.result(
        call.run('FusedBatchNormV3', [x, scale ?? all(1), offset ?? all(0), mean, variance], {
          epsilon,
          is_training: false,
        }),
        dtype,
      );
    }
    const deviation = call.run('Rsqrt', [call.run('AddV2', [variance, call.scalar(epsilon, 'float32')])]);
    const factor = scale == null ? deviation : call.run('Mul', [deviation, scale]);
    const scaled = call.run('Mul', [call.run('Sub', [x, mean]), factor]);
    return call.result(offset == null ? scaled : call.run('AddV2', [scaled, offset]), dtype);
  }),
];
