import { median } from './statistics';
import type { CaseResult, Target } from './types';

/** tftrt must be at least `times` as fast as the peer. */
export function timesAsFast(times: number): Target {
  return {
    text: `tftrt is at least ${times} times as fast as the peer`,
    value: ({ ratios }) => (ratios.length > 0 ? median(ratios.map((ratio) => 1 / ratio)) : undefined),
    atLeast: times,
  };
}

/** tftrt may take at most `share` of the time of the peer. */
export function shareOfTime(share: number): Target {
  return {
    text: `tftrt takes at most ${share} of the peer's time`,
    value: ({ ratios }) => (ratios.length > 0 ? median(ratios) : undefined),
    atMost: share,
  };
}

/** The median of tftrt itself is bounded. */
export function medianAtMost(bound: number, unit: string): Target {
  return {
    text: `tftrt's median is at most ${bound} ${unit}`,
    value: ({ sides }) => sides.tftrt?.median,
    atMost: bound,
  };
}

/** The median of tftrt itself has a floor. */
export function medianAtLeast(bound: number, unit: string): Target {
  return {
    text: `tftrt's median is at least ${bound} ${unit}`,
    value: ({ sides }) => sides.tftrt?.median,
    atLeast: bound,
  };
}

/** A named figure of tftrt is bounded. */
export function figureAtMost(figure: string, bound: number): Target {
  return {
    text: `${figure} at most ${bound}`,
    value: ({ sides }) => sides.tftrt?.figures[figure],
    atMost: bound,
  };
}

/** A named figure of tftrt has a floor. */
export function figureAtLeast(figure: string, bound: number): Target {
  return {
    text: `${figure} at least ${bound}`,
    value: ({ sides }) => sides.tftrt?.figures[figure],
    atLeast: bound,
  };
}

/** A target held against a result. */
export interface Verdict {
  readonly case: string;
  readonly target: string;
  readonly value: number | undefined;
  readonly pass: boolean;
}

/** Outputs of the two sides may differ by this much of their range: more, and they did not compute the same. */
const OUTPUT_TOLERANCE = 1e-4;

/** Holds the targets of a case against its result; the sides' outputs must agree as well. */
export function judge(targets: readonly Target[], result: CaseResult): Verdict[] {
  const verdicts = targets.map((target) => judgeOne(target, result));
  if (result.outputDifference !== undefined)
    verdicts.push(
      judgeOne(
        {
          text: `the outputs differ by at most ${OUTPUT_TOLERANCE} of their range`,
          value: () => result.outputDifference,
          atMost: OUTPUT_TOLERANCE,
        },
        result,
      ),
    );
  return verdicts;
}

/** A target whose figure is missing is not met: a side did not run. */
function judgeOne(target: Target, result: CaseResult): Verdict {
  const value = target.value(result);
  const pass =
    value !== undefined &&
    value >= (target.atLeast ?? Number.NEGATIVE_INFINITY) &&
    value <= (target.atMost ?? Number.POSITIVE_INFINITY);
  return { case: result.name, target: target.text, value, pass };
}
