import assert from 'node:assert/strict';
import { getKernelsForBackend } from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import { onTftrt } from '../support/tftrt';
import { assertOutputs, runKernel } from './harness';
import { properties, withoutProperty } from './properties';

/** Each property is tried this often, with the same cases every time. */
const RUNS = 150;
const SEED = 20_301;

describe('kernels compute what tfjs-backend-cpu computes', () => {
  onTftrt();

  for (const { kernel, cases, tolerance } of properties) {
    it(kernel, () => {
      fc.assert(
        fc.property(cases, (kernelCase) => {
          const expected = runKernel('cpu', kernel, kernelCase);
          assertOutputs(runKernel('tftrt', kernel, kernelCase), expected, tolerance);
        }),
        { seed: SEED, numRuns: RUNS },
      );
    });
  }

  it('every kernel has a property, or a reason for none', () => {
    const tested = new Set([...properties.map(({ kernel }) => kernel), ...Object.keys(withoutProperty)]);
    const kernels = getKernelsForBackend('tftrt').map(({ kernelName }) => kernelName);
    assert.deepEqual(
      kernels.filter((name) => !tested.has(name)),
      [],
    );
  });
});
