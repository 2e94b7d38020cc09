import type { Tensor } from '@tensorflow/tfjs';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';

export type Model = Parameters<typeof tftrt.build>[0];
export type ModelInputs = Tensor | Tensor[] | Record<string, Tensor>;
export type BuildOptions = tftrt.BuildOptions;
export type ConversionReport = tftrt.ConversionReport;

/**
 * `tftrt.build` for tests of what engines compute: right ones serve also where TensorFlow was faster, as it may be with nets as
 * small as these. What the tests do not say here is the default, the tolerance too.
 */
export function build(model: Model, options: BuildOptions): Promise<ConversionReport> {
  return tftrt.build(model, { force: true, ...options });
}

/** Checks that engines were built, and serve. */
export function expectEngine(report: {
  serving: ConversionReport['serving'];
  reason?: string;
  engines: readonly unknown[];
}): void {
  expect(report.engines, report.reason).to.have.length.above(0);
  expect(report.serving, report.reason).to.equal('tensorrt');
}

/** Checks that engines served all predictions of some work. Nothing else may predict meanwhile. */
export async function byEngines<Result>(work: () => Promise<Result>): Promise<Result> {
  const before = tftrt.stats().tiers;
  const result = await work();
  const { tensorflow, tensorrt, retired } = tftrt.stats().tiers;
  expect(tensorrt - before.tensorrt, 'predictions by engines').to.be.above(0);
  expect(tensorflow - before.tensorflow, 'predictions by TensorFlow').to.equal(0);
  expect(retired - before.retired, 'engines that failed').to.equal(0);
  return result;
}

/** How often predictions took TensorFlow because their shape is outside of the profiles. */
export function outsideProfiles(): number {
  return tftrt.stats().tiers.outsideProfiles;
}
