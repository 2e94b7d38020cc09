import {
  type BackendValues,
  engine,
  getKernel,
  type KernelBackend,
  type KernelConfig,
  type NamedAttrMap,
  type NamedTensorInfoMap,
  type TensorInfo,
  util,
} from '@tensorflow/tfjs-core';
import { TftrtError } from '../../errors';
import type { TftrtBackend } from '../backend';
import { inTfjsWords } from './messages';
import { type Attrs, BACKEND_NAME, type Inputs } from './table';

/** Calls of kernels that tfjs-backend-cpu computed in this backend's stead, by kernel. */
const counts = new Map<string, number>();
const warned = new Set<string>();

/** Number of kernel calls that were not computed by TensorFlow, by kernel. */
export function fallbackCounts(): Record<string, number> {
  return Object.fromEntries(counts);
}

/**
 * A kernel failed. If TensorFlow has no kernel for these dtypes, or none for this device, tfjs-backend-cpu computes it, with one
 * warning per kernel. Any other failure is thrown as it is.
 */
export function fallBack(
  kernel: string,
  inputs: Inputs,
  attrs: Attrs,
  backend: TftrtBackend,
  error: unknown,
): TensorInfo | TensorInfo[] {
  if (!isPlacementFailure(error)) throw inTfjsWords(kernel, error);
  let result: TensorInfo | TensorInfo[];
  try {
    result = runOnCpuBackend(kernel, inputs, attrs, backend);
  } catch {
    throw error; // it can be computed nowhere: TensorFlow's reason says more
  }
  warnOnce(kernel, `TensorFlow cannot run it on ${describe(inputs)}: ${firstLine(error)}`);
  return result;
}

/** A kernel that tfjs-backend-cpu has and this backend has not: that of a later release of tfjs, or of the user. */
export function foreignKernel(kernel: string): KernelConfig {
  return {
    kernelName: kernel,
    backendName: BACKEND_NAME,
    kernelFunc: ({ inputs, attrs, backend }) => {
      const result = runOnCpuBackend(kernel, inputs, attrs, backend as TftrtBackend);
      warnOnce(kernel, 'this backend does not have it');
      return result;
    },
  };
}

function warnOnce(kernel: string, reason: string): void {
  if (warned.has(kernel)) return;
  warned.add(kernel);
  console.warn(
    `tftrt: the kernel ${kernel} is computed by @tensorflow/tfjs-backend-cpu, slowly, because ${reason}`,
  );
}

/** Computes a kernel with tfjs-backend-cpu; its inputs and outputs are tensors of this backend. */
export function runOnCpuBackend(
  kernel: string,
  inputs: Inputs,
  attrs: Attrs,
  backend: TftrtBackend,
): TensorInfo | TensorInfo[] {
  const cpu = cpuBackend(kernel);
  const config = getKernel(kernel, 'cpu');
  if (config === undefined) {
    throw new TftrtError('TFTRT_UNIMPLEMENTED', `tfjs-backend-cpu has no kernel ${kernel} either.`);
  }
  const originals = new Map<object, TensorInfo>();
  const copy = (info: TensorInfo) => {
    if (info.dtype === 'complex64') {
      throw new TftrtError(
        'TFTRT_UNIMPLEMENTED',
        `tfjs-backend-cpu is given no complex tensors for ${kernel}.`,
      );
    }
    const values = backend.readSync(info.dataId);
    const dataId = {};
    cpu.move(dataId, values, info.shape, info.dtype, 1);
    originals.set(dataId, info);
    return { ...info, dataId };
  };
  let outputs: TensorInfo[] = [];
  try {
    const result = config.kernelFunc({
      inputs: mapTensors(inputs, copy) as NamedTensorInfoMap,
      attrs: attrs as NamedAttrMap,
      backend: cpu,
    });
    outputs = Array.isArray(result) ? result : [result];
    const written = outputs.map(({ dataId, shape, dtype }) => {
      const original = originals.get(dataId);
      if (original !== undefined) return backend.alias(original, shape); // the kernel returned its input
      return { dataId: backend.write(cpu.readSync(dataId), shape, dtype), shape, dtype };
    });
    counts.set(kernel, (counts.get(kernel) ?? 0) + 1);
    return Array.isArray(result) ? written : written[0]!;
  } finally {
    const made = new Set<object>([...originals.keys(), ...outputs.map(({ dataId }) => dataId)]);
    for (const dataId of made) cpu.disposeData(dataId);
  }
}

type CpuBackend = KernelBackend & { readSync(dataId: object): BackendValues };

function cpuBackend(kernel: string): CpuBackend {
  if (getKernel(kernel, 'cpu') === undefined) {
    try {
      require('@tensorflow/tfjs-backend-cpu');
    } catch (cause) {
      throw new TftrtError(
        'TFTRT_CPU_BACKEND_MISSING',
        `The kernel ${kernel} is computed by @tensorflow/tfjs-backend-cpu, which cannot be loaded. Install it next to @tensorflow/tfjs-core.`,
        { cause },
      );
    }
  }
  return engine().findBackend('cpu') as CpuBackend;
}

/** Inputs are tensors by name or a list; some named ones are lists. */
function mapTensors(inputs: Inputs, map: (info: TensorInfo) => TensorInfo): unknown {
  if (inputs == null) return inputs;
  if (Array.isArray(inputs)) return inputs.map((input) => mapTensors(input, map));
  if (inputs.dataId !== undefined) return map(inputs);
  // Canvases, images and the like are not for us to take apart.
  if (Object.getPrototypeOf(inputs) !== Object.prototype) return inputs;
  return Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, mapTensors(value, map)]));
}

function firstLine(error: unknown): string {
  return (error as Error).message.split('\n', 1)[0]!;
}

function describe(inputs: Inputs): string {
  const found: string[] = [];
  mapTensors(inputs, (info) => {
    found.push(`${info.dtype}[${info.shape}]`);
    return info;
  });
  return util.isString(inputs) || found.length === 0 ? 'these inputs' : found.join(', ');
}

function isPlacementFailure(error: unknown): boolean {
  if (!(error instanceof TftrtError)) return false;
  switch (error.code) {
    case 'TFTRT_UNIMPLEMENTED':
      return true;
    case 'TFTRT_NOT_FOUND':
      return /could not find device for node|no registered/i.test(error.message);
    case 'TFTRT_INVALID_ARGUMENT':
      return /is not in the list of allowed values/i.test(error.message);
    default:
      return false;
  }
}
