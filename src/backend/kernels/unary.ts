import * as k from '@tensorflow/tfjs-core';
import { TftrtError } from '../../errors';
import { prelu } from './activation';
import { custom, type DTypeRule, type KernelRow, op } from './table';

/** TensorFlow has these for floats only; tfjs keeps the dtype and truncates. Doubles hold every int32. */
const FLOATS: DTypeRule = { via: { int32: 'float64', bool: 'float64' } };
/** TensorFlow has these for numbers, not for bool. */
const NUMBERS: DTypeRule = { via: { bool: 'int32' } };
/** The result is float32 whatever comes in. */
const TO_FLOAT: DTypeRule = { via: { int32: 'float32', bool: 'float32' }, result: 'computed' };

/** Element by element: one operand, the same shape. */
export const unaryKernels: KernelRow[] = [
  op(k.Abs, 'Abs', ['x'], {}, NUMBERS),
  op(k.Acos, 'Acos', ['x'], {}, FLOATS),
  op(k.Acosh, 'Acosh', ['x'], {}, FLOATS),
  op(k.Asin, 'Asin', ['x'], {}, FLOATS),
  op(k.Asinh, 'Asinh', ['x'], {}, FLOATS),
  op(k.Atan, 'Atan', ['x'], {}, FLOATS),
  op(k.Atanh, 'Atanh', ['x'], {}, FLOATS),
  op(k.Ceil, 'Ceil', ['x'], {}, FLOATS),
  op(k.Cos, 'Cos', ['x'], {}, FLOATS),
  op(k.Cosh, 'Cosh', ['x'], {}, FLOATS),
  op(k.Elu, 'Elu', ['x'], {}, FLOATS),
  op(k.EluGrad, 'EluGrad', ['dy', 'y'], {}, TO_FLOAT),
  op(k.Erf, 'Erf', ['x'], {}, FLOATS),
  // In doubles: the GPU's float kernel misses tfjs's own tolerance at e^10.
  op(k.Exp, 'Exp', ['x'], {}, { via: { int32: 'float64', bool: 'float64' }, result: 'computed' }),
  op(k.Expm1, 'Expm1', ['x'], {}, FLOATS),
  op(k.Floor, 'Floor', ['x'], {}, FLOATS),
  op(k.LeakyRelu, 'LeakyRelu', ['x'], { alpha: (attrs) => attrs.alpha }, TO_FLOAT),
  op(k.Log, 'Log', ['x'], {}, FLOATS),
  op(k.Log1p, 'Log1p', ['x'], {}, FLOATS),
  op(k.Neg, 'Neg', ['x'], {}, NUMBERS),
  op(k.Reciprocal, 'Reciprocal', ['x'], {}, FLOATS),
  op(k.Relu, 'Relu', ['x'], {}, NUMBERS),
  op(k.Relu6, 'Relu6', ['x'], {}, NUMBERS),
  op(k.Rsqrt, 'Rsqrt', ['x'], {}, FLOATS),
  op(k.Selu, 'Selu', ['x'], {}, FLOATS),
  op(k.Sigmoid, 'Sigmoid', ['x'], {}, FLOATS),
  op(k.Sin, 'Sin', ['x'], {}, FLOATS),
  op(k.Sinh, 'Sinh', ['x'], {}, FLOATS),
  op(k.Softplus, 'Softplus', ['x'], {}, FLOATS),
  op(k.Sqrt, 'Sqrt', ['x'], {}, FLOATS),
  op(k.Square, 'Square', ['x'], {}, NUMBERS),
  // Near its poles, a float's tangent wants more digits than floats have.
  op(k.Tan, 'Tan', ['x'], {}, { via: { ...FLOATS.via, float32: 'float64' } }),
  op(k.Tanh, 'Tanh', ['x'], {}, FLOATS),

  custom(k.ClipByValue, (call) => {
    const { x } = call.inputs;
    const { clipValueMin, clipValueMax } = call.attrs;
    if (x.dtype === 'float32') {
      return call.result(
        call.run('ClipByValue', [
          x,
          call.scalar(clipValueMin, 'float32'),
          call.scalar(clipValueMax, 'float32'),
        ]),
      );
    }
    const bounds = [clipValueMin, clipValueMax].map((bound) => call.scalar(toInt32Range(bound)));
    return call.result(call.run('ClipByValue', [call.cast(x, 'int32'), ...bounds]), x.dtype);
  }),

  /** TensorFlow's gives zeros for int32: what is round already is the result. */
  custom(k.Round, (call) => {
    const { x } = call.inputs;
    return call.result(x.dtype === 'float32' ? call.run('Round', [x]) : x);
  }),

  /** TensorFlow's sign of NaN is NaN, that of tfjs is 0. */
  custom(k.Sign, (call) => {
    const { x } = call.inputs;
    if (x.dtype !== 'float32') return call.result(call.run('Sign', [call.cast(x, 'int32')]), x.dtype);
    return call.result(call.select(call.run('IsNan', [x]), call.scalar(0, 'float32'), call.run('Sign', [x])));
  }),

  /** 1 above 0, else alpha; NaN stays NaN. */
  custom(k.Step, (call) => {
    const { x } = call.inputs;
    const alpha = call.attrs.alpha ?? 0;
    const number = x.dtype === 'float32' ? x : call.cast(x, 'int32');
    if (alpha === 0) return call.result(call.run('Sign', [call.run('Relu', [number])]), x.dtype);
    const dtype = x.dtype === 'float32' ? 'float32' : 'int32';
    const step = call.select(
      call.run('Greater', [number, call.scalar(0, dtype)]),
      call.scalar(1, dtype),
      call.scalar(alpha, dtype),
    );
    if (dtype === 'int32') return call.result(step, x.dtype);
    return call.result(call.select(call.run('IsNan', [x]), x, step));
  }),

  /** No op of TensorFlow's: x where it is not negative, alpha · x where it is. */
  custom(k.Prelu, (call) => {
    if ([call.inputs.x, call.inputs.alpha].some(({ dtype }) => dtype === 'complex64')) {
      throw new TftrtError(
        'TFTRT_INVALID_ARGUMENT',
        'prelu: complex64 values are neither above nor below 0; expected real ones, such as those of tf.real.',
      );
    }
    const x = call.cast(call.inputs.x, 'float32');
    const alpha = call.cast(call.inputs.alpha, 'float32');
    return call.result(prelu(call, x, alpha));
  }),
];

function toInt32Range(value: number): number {
  return Math.trunc(Math.min(Math.max(value, -(2 ** 31)), 2 ** 31 - 1));
}
