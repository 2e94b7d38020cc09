import path from 'node:path';
import { addonFile } from '#src/setup/paths';

/** Other CUDA code in the process: see test/addon/cuda_client.cc. */
export interface CudaClient {
  /** Device memory, or pinned host memory. */
  allocate(computeStream: bigint, bytes: number, onHost: boolean): bigint;
  free(computeStream: bigint, pointer: bigint): void;
  /**
   * Once the compute stream got to here, and after a delay, copies memory into new memory, on another thread and stream. The
   * event follows the copy. Returns at once.
   */
  copyLater(
    computeStream: bigint,
    pointer: bigint,
    bytes: number,
    delayMs: number,
  ): [pointer: bigint, event: bigint, stream: bigint];
  /** The values that the compute stream leaves there. */
  read(computeStream: bigint, pointer: bigint, bytes: number): ArrayBuffer;
  /** Keeps a stream busy. Returns at once. */
  delay(stream: bigint, ms: number): void;
}

export const cudaClientFile = path.join(path.dirname(addonFile('tftrt')), 'cuda_client.node');

export function cudaClient(): CudaClient {
  return require(cudaClientFile) as CudaClient;
}
