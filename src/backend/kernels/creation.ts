import * as k from '@tensorflow/tfjs-core';
import { util } from '@tensorflow/tfjs-core';
import { TftrtError } from '../../errors';
import type { ConstantDType } from '../constants';
import { custom, type FunctionRow, type KernelRow, op, scalar } from './table';

/** Kernels that make tensors from attributes, or from no more than an input's shape. */
export const creationKernels: KernelRow[] = [
  op(k.LinSpace, 'LinSpace', [
    scalar((attrs) => attrs.start, 'float32'),
    scalar((attrs) => attrs.stop, 'float32'),
    scalar((attrs) => attrs.num),
  ]),
  custom(k.OnesLike, like('OnesLike')),
  custom(k.ZerosLike, like('ZerosLike')),

  custom(k.Fill, (call) => {
    const { shape, value } = call.attrs;
    const dtype = call.attrs.dtype ?? util.inferDtype(value);
    const operand =
      dtype === 'string' ? call.string(value) : call.scalar(Number(value), dtype as ConstantDType);
    return call.result(call.run('Fill', [call.constant(shape), operand]));
  }),
  custom(k.OneHot, (call) => {
    const { indices } = call.inputs;
    const { depth, onValue, offValue, dtype = 'int32' } = call.attrs;
    return call.result(
      call.run('OneHot', [
        call.cast(indices, 'int32'),
        call.scalar(depth),
        call.scalar(onValue, dtype),
        call.scalar(offValue, dtype),
      ]),
    );
  }),
  /** In tfjs a range against its step is empty, and a range downwards with step 1 has step -1. */
  custom(k.Range, (call) => {
    const { start, stop, dtype = 'float32' } = call.attrs;
    const step = stop < start && call.attrs.step === 1 ? -1 : call.attrs.step;
    const length = start === stop || start < stop !== step > 0 ? 0 : Math.ceil((stop - start) / step);
    const values = dtype === 'int32' ? new Int32Array(length) : new Float32Array(length);
    let value = start;
    for (let i = 0; i < length; i++, value += step) values[i] = value;
    return call.write(values, [length], dtype);
  }),
  /** TensorFlow's generator without state: the same seed gives the same samples. */
  custom(k.Multinomial, (call) => {
    const { logits } = call.inputs;
    const { numSamples, seed, normalized } = call.attrs;
    const numbers = call.cast(logits, 'float32');
    const unnormalized = normalized ? call.run('Log', [numbers]) : numbers;
    return call.result(
      call.run(
        'StatelessMultinomial',
        [unnormalized, call.scalar(numSamples), call.constant(seedWords(seed))],
        { output_dtype: 'int32' },
      ),
    );
  }),
];

function like(name: 'OnesLike' | 'ZerosLike'): FunctionRow['run'] {
  return (call) => {
    const { x } = call.inputs;
    if (x.dtype === 'string') {
      throw new TftrtError(
        'TFTRT_INVALID_ARGUMENT',
        `${name} is not supported for string tensors: there is no such string.`,
      );
    }
    return call.result(call.run(name, [x]));
  };
}

/** The bits of a number, which may have a fraction, as two integers. */
function seedWords(seed: number): number[] {
  return Array.from(new Int32Array(new Float64Array([seed]).buffer));
}
