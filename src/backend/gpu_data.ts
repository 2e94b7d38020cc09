import type { GPUData } from '@tensorflow/tfjs-core';
import { TftrtError } from '../errors';
import type { NativeRuntime } from '../native';

/**
 * What `tensor.dataToGPU()` returns for a tensor of this backend: where its values are in device memory. The memory is the
 * tensor's own, not a copy (int32 tensors are copied: TensorFlow keeps them on the host), so write to it only where nothing
 * else uses the tensor or one that shares its data. It stays allocated until `tensorRef` is disposed of.
 *
 * The values are there once the work that is enqueued on `stream` has run: have another stream wait for an event recorded
 * there. After work of your own on another stream, have `stream` wait for that before you dispose of `tensorRef`.
 */
export interface GpuTensorData extends GPUData {
  /** Device pointer (CUdeviceptr). 0 where the tensor has no elements. */
  readonly pointer: bigint;
  readonly bytes: number;
  /** TensorFlow's compute stream (CUstream), in the primary context of the GPU. */
  readonly stream: bigint;
  /** TensorFlow's name of the GPU. */
  readonly device: string;
}

/** Throws TFTRT_GPU_UNAVAILABLE where the CPU computes. */
export function requireGpu(runtime: NativeRuntime, what: string): void {
  if (runtime.onGpu) return;
  throw new TftrtError(
    'TFTRT_GPU_UNAVAILABLE',
    `${what} needs an NVIDIA GPU, but the backend runs on ${runtime.deviceName}. Use data() for values on the host.`,
  );
}
