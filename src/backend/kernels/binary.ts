import * as k from '@tensorflow/tfjs-core';
import type { CallOperand, KernelCall, Value } from './call';
import { allInputs, custom, type DTypeRule, type KernelRow, op } from './table';

/** TensorFlow has these for numbers, not for bool. */
const NUMBERS: DTypeRule = { via: { bool: 'int32' } };
/** TensorFlow has these for floats only; tfjs keeps the dtype and truncates. Doubles hold every int32. */
const FLOATS: DTypeRule = { via: { int32: 'float64', bool: 'float64' } };

/** Element by element: two operands, broadcast. */
export const binaryKernels: KernelRow[] = [
  op(k.Add, 'AddV2', ['a', 'b'], {}, NUMBERS),
  op(
    k.AddN,
    'AddN',
    [allInputs],
    {
      N: (_, inputs) => inputs.length,
      T: (_, inputs) => (inputs[0].dtype === 'bool' ? 'int32' : inputs[0].dtype),
    },
    NUMBERS,
  ),
  op(k.Atan2, 'Atan2', ['a', 'b'], {}, FLOATS),
  op(k.BitwiseAnd, 'BitwiseAnd', ['a', 'b']),
  op(k.Maximum, 'Maximum', ['a', 'b'], {}, NUMBERS),
  op(k.Minimum, 'Minimum', ['a', 'b'], {}, NUMBERS),
  op(k.Mod, 'FloorMod', ['a', 'b'], {}, NUMBERS),
  op(k.Multiply, 'Mul', ['a', 'b'], {}, NUMBERS),
  op(k.RealDiv, 'RealDiv', ['a', 'b'], {}, FLOATS),
  op(k.SquaredDifference, 'SquaredDifference', ['a', 'b'], {}, NUMBERS),
  op(k.Sub, 'Sub', ['a', 'b'], {}, NUMBERS),

  /** TensorFlow refuses to divide integers by zero; in tfjs that gives 0, which `divNoNan` relies on. */
  custom(k.FloorDiv, (call) => {
    const [a, b] = [call.inputs.a, call.inputs.b].map((x) =>
      x.dtype === 'bool' ? call.cast(x, 'int32') : x,
    );
    try {
      return call.result(call.run('FloorDiv', [a, b]), 'int32');
    } catch (error) {
      if (!/division by zero/.test((error as Error).message)) throw error;
      const isZero = call.run('Equal', [b, call.scalar(0)]);
      const quotient = call.run('FloorDiv', [a, call.select(isZero, call.scalar(1), b)]);
      return call.result(call.select(isZero, call.scalar(0), quotient), 'int32');
    }
  }),

  /** TensorFlow refuses integers to negative powers; tfjs truncates, which leaves 1, -1 or 0. */
  custom(k.Pow, (call) => {
    const { a, b } = call.inputs;
    if (a.dtype !== 'int32' && a.dtype !== 'bool') return call.result(call.run('Pow', [a, b]));
    const [x, y] = [call.cast(a, 'int32'), call.cast(b, 'int32')];
    try {
      return call.result(call.run('Pow', [x, y]), a.dtype);
    } catch (error) {
      if (!/negative integer powers/.test((error as Error).message)) throw error;
      return call.result(powerWithNegatives(call, x, y), a.dtype);
    }
  }),
];

function powerWithNegatives(call: KernelCall, x: CallOperand, y: CallOperand): Value {
  const zero = call.scalar(0);
  const power = call.run('Pow', [x, call.run('Maximum', [y, zero])]);
  const inverse = call.run('Pow', [call.cast(x, 'float64'), call.cast(y, 'float64')]);
  const finite = call.run('ClipByValue', [inverse, call.scalar(-1, 'float64'), call.scalar(1, 'float64')]);
  return call.select(call.run('Less', [y, zero]), call.cast(finite, 'int32'), power);
}
