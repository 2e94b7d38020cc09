import { aliasKernels } from './array';
import { binaryKernels } from './binary';
import type { KernelRow } from './table';
import { unaryKernels } from './unary';

/** All kernels of the backend, by family. */
export const kernelRows: readonly KernelRow[] = [...aliasKernels, ...binaryKernels, ...unaryKernels];
