import { aliasKernels } from './alias';
import { arrayKernels } from './array';
import { binaryKernels } from './binary';
import { convolutionKernels } from './convolution';
import { creationKernels } from './creation';
import { depthwiseKernels } from './depthwise';
import { dilationKernels } from './dilation';
import { fusedKernels } from './fused';
import { gatherKernels } from './gather';
import { imageKernels } from './image';
import { logicalKernels } from './logical';
import { matrixKernels } from './matrix';
import { normalizationKernels } from './normalization';
import { poolKernels } from './pool';
import { raggedKernels } from './ragged';
import { reductionKernels } from './reduction';
import { sparseKernels } from './sparse';
import { spectralKernels } from './spectral';
import { stringKernels } from './string';
import type { KernelRow } from './table';
import { unaryKernels } from './unary';

/** All kernels of the backend, by family. */
export const kernelRows: readonly KernelRow[] = [
  ...aliasKernels,
  ...arrayKernels,
  ...binaryKernels,
  ...convolutionKernels,
  ...creationKernels,
  ...depthwiseKernels,
  ...dilationKernels,
  ...fusedKernels,
  ...gatherKernels,
  ...imageKernels,
  ...logicalKernels,
  ...matrixKernels,
  ...normalizationKernels,
  ...poolKernels,
  ...raggedKernels,
  ...reductionKernels,
  ...sparseKernels,
  ...spectralKernels,
  ...stringKernels,
  ...unaryKernels,
];
