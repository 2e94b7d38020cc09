import type { KernelConfig, KernelFunc, TensorInfo } from '@tensorflow/tfjs-core';
import type { Handle } from '../../native';
import type { TftrtBackend } from '../backend';
import type { AttributeValue } from '../op_attributes';
import { KernelCall } from './call';
import { fallBack } from './fallback';
import { type Attrs, BACKEND_NAME, type Inputs, type KernelRow, type Operand, type OpRow } from './table';

/** The tfjs registration of a row. */
export function toKernelConfig(row: KernelRow): KernelConfig {
  const run = runnerOf(row);
  const kernelFunc: KernelFunc = (call) => {
    try {
      return run(call.inputs, call.attrs, call.backend as TftrtBackend);
    } catch (error) {
      (call.backend as TftrtBackend).endCall();
      return fallBack(row.kernel, call.inputs, call.attrs, call.backend as TftrtBackend, error);
    }
  };
  return { kernelName: row.kernel, backendName: BACKEND_NAME, kernelFunc };
}

type Runner = (inputs: Inputs, attrs: Attrs, backend: TftrtBackend) => TensorInfo | TensorInfo[];

function runnerOf(row: KernelRow): Runner {
  if ('run' in row) {
    return (inputs, attrs, backend) => {
      const call = new KernelCall(inputs, attrs, backend);
      try {
        return row.run(call);
      } finally {
        call.end();
      }
    };
  }
  if (row.via !== undefined || row.result !== undefined || row.outputs !== undefined) return converted(row);
  return direct(row);
}

/** A row with no dtype rules and one output, without objects per call but the result. */
function direct(row: OpRow): Runner {
  const { operands } = row;
  const attributes = attributesOf(row);
  return (inputs, attrs, backend) => {
    const id = backend.ops.id(row.op, attributes?.(attrs, inputs));
    const handles: Handle[] = [];
    for (const operand of operands) {
      if (typeof operand === 'string') {
        handles.push(backend.handle(inputs[operand] as TensorInfo));
      } else if ('list' in operand) {
        for (const info of operand.list(inputs)) handles.push(backend.handle(info));
      } else {
        handles.push(constantHandle(operand, attrs, inputs, backend));
      }
    }
    const result = backend.execute(id, handles);
    backend.endCall();
    return result;
  };
}

function constantHandle(
  { constant, dtype, shape }: Extract<Operand, { constant: unknown }>,
  attrs: Attrs,
  inputs: Inputs,
  backend: TftrtBackend,
): Handle {
  return backend.constants.get(constant(attrs, inputs), dtype, shape?.(attrs, inputs));
}

/** A row whose operands or results may need casts, or that returns a list. */
function converted(row: OpRow): Runner {
  const attributes = attributesOf(row);
  const plain = row.outputs === undefined ? direct(row) : undefined;
  return (inputs, attrs, backend) => {
    const { via, result = 'input' } = row;
    if (plain !== undefined && needsNoCast(row, inputs)) return plain(inputs, attrs, backend);
    const call = new KernelCall(inputs, attrs, backend);
    try {
      let first: TensorInfo | undefined;
      const operands = row.operands.flatMap((operand) => {
        if (typeof operand !== 'string' && !('list' in operand)) {
          return call.constant(
            operand.constant(attrs, inputs) as number[],
            operand.dtype,
            operand.shape?.(attrs, inputs) as number[] | undefined,
          );
        }
        const infos = typeof operand === 'string' ? [inputs[operand] as TensorInfo] : operand.list(inputs);
        first ??= infos[0];
        return infos.map((info) => {
          const dtype = via?.[info.dtype];
          return dtype === undefined ? info : call.cast(info, dtype);
        });
      });
      const applied = first !== undefined && via?.[first.dtype] !== undefined;
      const dtype =
        result === 'computed'
          ? undefined
          : result === 'input'
            ? applied
              ? first!.dtype
              : undefined
            : result;
      const values = attributes?.(attrs, inputs);
      if (row.outputs === undefined) return call.result(call.run(row.op, operands, values), dtype);
      const outputs = row.outputs(attrs, inputs);
      return call.runAll(row.op, operands, values, outputs).map((value) => call.result(value, dtype));
    } finally {
      call.end();
    }
  };
}

/** Whether the op takes and gives what tfjs has. */
function needsNoCast({ operands, via, result }: OpRow, inputs: Inputs): boolean {
  if (result !== undefined && result !== 'input' && result !== 'computed') return false;
  for (const operand of operands) {
    if (typeof operand === 'string') {
      if (via?.[(inputs[operand] as TensorInfo).dtype] !== undefined) return false;
    } else if ('list' in operand) {
      for (const info of operand.list(inputs)) if (via?.[info.dtype] !== undefined) return false;
    }
  }
  return true;
}

function attributesOf(
  row: OpRow,
): ((attrs: Attrs, inputs: Inputs) => Record<string, AttributeValue>) | undefined {
  const rules = Object.entries(row.attributes);
  if (rules.length === 0) return undefined;
  return (attrs, inputs) => {
    const values: Record<string, AttributeValue> = {};
    for (const [name, rule] of rules) values[name] = rule(attrs, inputs);
    return values;
  };
}
