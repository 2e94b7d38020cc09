import type { GraphModel, Tensor } from '@tensorflow/tfjs';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';

export type ModelInputs = Tensor | Tensor[] | Record<string, Tensor>;
export type BuildOptions = tftrt.BuildOptions;
export type ConversionReport = tftrt.ConversionReport;

/** `tftrt.build`. */
export function build(model: GraphModel, options: BuildOptions): Promise<ConversionReport> {
  return tftrt.build(model, options);
}

/** Checks that engines were built, and serve unless they are slower than TensorFlow. */
export function expectEngine(report: {
  serving: ConversionReport['serving'];
  reason?: string;
  engines: readonly unknown[];
}): void {
  expect(report.engines, report.reason).to.have.length.above(0);
  if (report.serving === 'tensorflow') expect(report.reason, report.reason).to.match(/slower|faster/i);
}

/** How often predictions took TensorFlow because their shape is outside of the profiles. */
export function outsideProfiles(): number {
  return tftrt.stats().tiers.outsideProfiles;
}
