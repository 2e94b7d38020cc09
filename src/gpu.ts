import { engine, type Rank, type ShapeMap, type Tensor, util } from '@tensorflow/tfjs-core';
import { activeDevice, tftrtBackend } from './backend/active';
import { requireGpu } from './backend/gpu_data';
import { toTFDataType } from './dtypes';
import { TftrtError } from './errors';
import { nativeRuntime } from './native';
import { shown } from './options';

/** Device memory that is to become a tensor. */
export interface DeviceMemory<R extends Rank = Rank> {
  /** Device pointer (CUdeviceptr) to dense values in row-major order. */
  readonly pointer: bigint;
  readonly shape: ShapeMap[R];
  /** Values as TensorFlow keeps them: bool as bytes of 0 or 1, complex64 as pairs of float32. */
  readonly dtype: 'float32' | 'int32' | 'bool' | 'complex64';
  /** How much memory there is, if you want that checked. */
  readonly byteLength?: number;
}

export interface DeviceMemoryOptions {
  /** The values are there when this event (CUevent) is reached. */
  readonly event?: bigint;
  /** The values are there when the work that is enqueued on this stream (CUstream) by now has run. */
  readonly stream?: bigint;
  /**
   * true (the default): the tensor gets a copy. false: the tensor uses the memory in place, as long as TensorFlow needs it;
   * the pointer must be a multiple of 64 bytes. int32 tensors are always copied, since TensorFlow keeps them on the host.
   */
  readonly copy?: boolean;
  /**
   * Called once when the tensor does not need the memory any more: with a copy as soon as that is made, in place after the
   * tensor and all that share its data are disposed of and the work that uses them has run. It does not keep the process
   * alive, and is not called where `tensorFromDevice` throws.
   */
  readonly release?: () => void;
}

const DTYPES: readonly string[] = ['float32', 'int32', 'bool', 'complex64'];

/**
 * The stream (CUstream, of the primary context) on which TensorFlow computes on a GPU: by default the one in use, else by one
 * of the names that `devices()` gives. Other CUDA code orders its work with TensorFlow's by events on this stream.
 * Throws TFTRT_GPU_UNAVAILABLE on the CPU.
 */
export function computeStream(device?: string): bigint {
  const runtime = nativeRuntime(activeDevice());
  if (device !== undefined && typeof device !== 'string') {
    throw invalid(`computeStream's device is ${device}`, 'a name that devices() gives');
  }
  if (device === undefined) requireGpu(runtime, 'computeStream()');
  return runtime.addon.computeStream(device ?? runtime.deviceName);
}

/**
 * A tensor from device memory of the GPU in use, allocated by other CUDA code of this process. Without `event` and `stream`
 * the values must be there already.
 */
export function tensorFromDevice<R extends Rank = Rank>(
  memory: DeviceMemory<R>,
  options: DeviceMemoryOptions = {},
): Tensor<R> {
  if (typeof memory !== 'object' || memory === null) {
    throw invalid(`tensorFromDevice's memory is ${memory}`, 'an object with pointer, shape and dtype');
  }
  const { pointer, dtype, byteLength } = memory;
  const shape = memory.shape as number[];
  const { event, stream, copy = true, release } = options ?? {};
  if (!Array.isArray(shape) || !shape.every((size) => Number.isInteger(size) && size >= 0)) {
    throw invalid(`tensorFromDevice's shape is ${shown(shape)}`, 'an array of whole numbers from 0');
  }
  if (!DTYPES.includes(dtype)) throw invalid(`tensorFromDevice's dtype is '${dtype}'`, DTYPES.join(', '));
  const bytes = util.sizeFromShape(shape) * util.bytesPerElement(dtype);
  if (byteLength !== undefined && !(byteLength >= bytes)) {
    throw invalid(
      `byteLength is ${byteLength}, too short for ${dtype} values of shape [${shape}]`,
      `${bytes} or more`,
    );
  }
  if (typeof pointer !== 'bigint') throw invalid(`tensorFromDevice's pointer is ${pointer}`, 'a bigint');
  for (const [name, handle] of Object.entries({ event, stream })) {
    if (handle !== undefined && typeof handle !== 'bigint')
      throw invalid(`tensorFromDevice's ${name} is ${handle}`, 'a bigint');
  }
  if (event === 0n) throw invalid("tensorFromDevice's event is 0", 'an event that was recorded');
  if (typeof copy !== 'boolean') throw invalid(`tensorFromDevice's copy is ${copy}`, 'true or false');
  if (release !== undefined && typeof release !== 'function')
    throw invalid(`tensorFromDevice's release is ${release}`, 'a function');

  const backend = tftrtBackend();
  const { runtime } = backend;
  requireGpu(runtime, 'tensorFromDevice()');
  backend.writeShape(shape);
  const handle = runtime.addon.tensorFromDevice(
    toTFDataType(dtype),
    shape.length,
    pointer,
    copy || dtype === 'int32',
    event,
    stream,
    release,
  );
  const info = backend.adopt(handle, shape.slice(), dtype);
  return engine().makeTensorFromTensorInfo(info, backend) as Tensor<R>;
}

function invalid(what: string, expected: string): TftrtError {
  return new TftrtError('TFTRT_INVALID_ARGUMENT', `${what}; expected ${expected}.`);
}
