import type { Attributes } from '../op_attributes';
import type { CallOperand, KernelCall, Value } from './call';

/**
 * Runs a convolution on a batch of any size. On the CPU, oneDNN gives the result of an empty batch the shape of its input, so that one
 * is computed with one image of zeros, which is cut off again.
 */
export function runOnBatch(
  call: KernelCall,
  op: string,
  [x, filter]: readonly [CallOperand, CallOperand],
  attributes: Attributes,
): Value {
  if (x.shape[0] !== 0) return call.run(op, [x, filter], attributes);
  const oneMore = x.shape.flatMap((_, axis) => (axis === 0 ? [0, 1] : [0, 0]));
  const padded = call.run('Pad', [x, call.constant(oneMore, 'int32', [x.shape.length, 2])]);
  const y = call.run(op, [padded, filter], attributes);
  const origin = y.shape.map(() => 0);
  return call.run('Slice', [y, call.constant(origin), call.constant([0, ...y.shape.slice(1)])]);
}
