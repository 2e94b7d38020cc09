import { DT } from '../../dtypes';
import type { Attributes, DTypeName } from '../op_attributes';
import { type CallOperand, dtypeOf, type KernelCall, type Value } from './call';
import type { Layout } from './layout';

const NAMES: Readonly<Record<number, DTypeName>> = { [DT.DOUBLE]: 'float64', [DT.INT32]: 'int32' };

/**
 * Runs a convolution, unless nothing comes of it: an empty batch, a window larger than the image, or one that meets padding only. On
 * the CPU, oneDNN would then give a result of the input's shape, of which it writes nothing, or end the process. `positions`: the
 * results along each spatial axis.
 */
export function runUnlessEmpty(
  call: KernelCall,
  op: string,
  [x, filter]: readonly [CallOperand, CallOperand],
  attributes: Attributes,
  layout: Layout,
  positions: readonly number[],
  channels: number,
  meetsImage = true,
): Value {
  const batch = x.shape[0]!;
  if (batch > 0 && meetsImage && positions.every((count) => count > 0)) {
    return call.run(op, [x, filter], attributes);
  }
  const counts = positions.map((count) => Math.max(count, 0));
  const shape = layout.format.endsWith('C') ? [batch, ...counts, channels] : [batch, channels, ...counts];
  return zeros(call, shape, NAMES[dtypeOf(x)]);
}

/**
 * Runs an op for the gradient of a filter, unless the convolution has no results: then it is zero. On the CPU, oneDNN would leave it
 * unwritten, and with padding side by side end the process.
 */
export function filterGradientUnlessEmpty(
  call: KernelCall,
  op: string,
  [x, dy]: readonly [CallOperand, CallOperand],
  filterShape: number[],
  attributes: Attributes,
): Value {
  if (dy.shape.includes(0)) return zeros(call, filterShape);
  return call.run(op, [x, call.constant(filterShape), dy], attributes);
}

export function zeros(call: KernelCall, shape: number[], dtype: DTypeName = 'float32'): Value {
  return call.run('Fill', [call.constant(shape), call.cast(call.scalar(0, 'float32'), dtype)]);
}
