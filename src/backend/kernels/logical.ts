import * as k from '@tensorflow/tfjs-core';
import { custom, type DTypeRule, type KernelRow, op } from './table';

/** The result is what the op computes: bool. */
const NUMBERS: DTypeRule = { via: { bool: 'int32' }, result: 'computed' };
const BOOLS: DTypeRule = { via: { int32: 'bool', float32: 'bool' }, result: 'computed' };
const FLOATS: DTypeRule = { via: { int32: 'float32', bool: 'float32' }, result: 'computed' };

/** Comparisons, logical operations, and what chooses by them. */
export const logicalKernels: KernelRow[] = [
  op(k.Equal, 'Equal', ['a', 'b']),
  op(k.NotEqual, 'NotEqual', ['a', 'b']),
  op(k.Greater, 'Greater', ['a', 'b'], {}, NUMBERS),
  op(k.GreaterEqual, 'GreaterEqual', ['a', 'b'], {}, NUMBERS),
  op(k.Less, 'Less', ['a', 'b'], {}, NUMBERS),
  op(k.LessEqual, 'LessEqual', ['a', 'b'], {}, NUMBERS),
  op(k.LogicalAnd, 'LogicalAnd', ['a', 'b'], {}, BOOLS),
  op(k.LogicalOr, 'LogicalOr', ['a', 'b'], {}, BOOLS),
  op(k.LogicalNot, 'LogicalNot', ['x'], {}, BOOLS),
  op(k.IsFinite, 'IsFinite', ['x'], {}, FLOATS),
  op(k.IsInf, 'IsInf', ['x'], {}, FLOATS),
  op(k.IsNan, 'IsNan', ['x'], {}, FLOATS),
  custom(k.Select, (call) => call.result(call.select(call.inputs.condition, call.inputs.t, call.inputs.e))),
];
