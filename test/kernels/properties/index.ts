import type { Property } from '../arbitraries';
import { arrayProperties } from './array';
import { binaryProperties } from './binary';
import { convolutionProperties } from './convolution';
import { creationProperties } from './creation';
import { gatherProperties } from './gather';
import { imageProperties } from './image';
import { matrixProperties } from './matrix';
import { normalizationProperties } from './normalization';
import { otherProperties } from './other';
import { poolProperties } from './pool';
import { reductionProperties } from './reduction';
import { unaryProperties } from './unary';

export const properties: readonly Property[] = [
  ...arrayProperties,
  ...binaryProperties,
  ...convolutionProperties,
  ...creationProperties,
  ...gatherProperties,
  ...imageProperties,
  ...matrixProperties,
  ...normalizationProperties,
  ...otherProperties,
  ...poolProperties,
  ...reductionProperties,
  ...unaryProperties,
];

/** Kernels that are not held against tfjs-backend-cpu, and why. */
export const withoutProperty: Readonly<Record<string, string>> = {
  Draw: 'it is computed by tfjs-backend-cpu',
  Multinomial: 'it is random: each backend has its own generator',
};
