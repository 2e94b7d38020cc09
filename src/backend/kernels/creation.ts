import * as k from '@tensorflow/tfjs-core';
import { util } from '@tensorflow/tfjs-core';
import { TftrtError } from '../../errors';
import type { ConstantDType } from '../constants';
import type { CallOperand, KernelCall } from './call';
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
    const long = longRange(call, start, step, length, dtype);
    if (long !== undefined) return call.result(long);
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

/** From this length on, TensorFlow is quicker than JavaScript. */
const LONG_RANGE = 1024;
/** So far, float32 has all integers. */
const MAX_FLOAT32_INTEGER = 2 ** 24;

/**
 * A long range, made by TensorFlow; undefined where JavaScript has to do it. (On a GPU, TensorFlow makes it on the host, from where
 * each use would copy it.) TensorFlow adds the steps up in the dtype it is asked for: if that would round them, doubles are asked for.
 */
function longRange(
  call: KernelCall,
  start: number,
  step: number,
  length: number,
  dtype: 'int32' | 'float32',
): CallOperand | undefined {
  if (length < LONG_RANGE || call.onGpu) return undefined;
  const end = start + length * step;
  const exact =
    [start, step].every(Number.isInteger) && Math.max(Math.abs(start), Math.abs(end)) <= MAX_FLOAT32_INTEGER;
  if (dtype === 'int32' && !exact) return undefined;
  const limit = exact ? end : end - step / 2; // in the middle of a step, so that rounding cannot change the length
  const computed = exact ? dtype : 'float64';
  return call.cast(
    call.run(
      'Range',
      [start, limit, step].map((value) => call.scalar(value, computed)),
    ),
    dtype,
  );
}

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
