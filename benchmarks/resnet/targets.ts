import { median } from '../statistics';
import type { Results, Row } from './results';

/** A promise about the results. */
interface Target {
  readonly text: string;
  readonly value: (results: Measured) => number | undefined;
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** A target held against the results. */
export interface Verdict {
  readonly target: string;
  readonly value?: number;
  readonly pass: boolean;
}

type Measured = Omit<Results, 'verdicts'>;

const MIB_64 = 64 * 2 ** 20;

/** Milliseconds or microseconds of a contestant in a scenario. */
function atMost(contestant: string, scenario: string, bound: number, unit = 'ms'): Target {
  return {
    text: `${contestant}, ${scenario}: at most ${bound} ${unit}`,
    value: (results) => rowOf(results, contestant, scenario)?.median,
    atMost: bound,
  };
}

/** How many times as fast as the peer's SavedModel, which is its fastest. */
function timesAsFast(contestant: string, scenario: string, times: number): Target {
  return {
    text: `${contestant}, ${scenario}: at least ${times} times as fast as the peer's SavedModel`,
    value: (results) =>
      quotient(rowOf(results, 'peer', 'single-saved')?.median, rowOf(results, contestant, scenario)?.median),
    atLeast: times,
  };
}

function imagesPerSecond(contestant: string, bound: number): Target {
  return {
    text: `${contestant}, large-block-graph: at least ${bound} images/s`,
    value: (results) =>
      quotient(results.largeBatch * 1000, rowOf(results, contestant, 'large-block-graph')?.median),
    atLeast: bound,
  };
}

function gigabytesPerSecond(scenario: string, bound: number): Target {
  return {
    text: `${scenario} of 64 MiB: at least ${bound} GB/s`,
    value: (results) => quotient(MIB_64 / 1e6, rowOf(results, 'bare', scenario)?.median),
    atLeast: bound,
  };
}

/** Loading the engine is the whole of `build` with its verification. */
function engineLoadAtMost(contestant: string, bound: number): Target {
  return {
    text: `${contestant}: a later process loads the engine in at most ${bound} s`,
    value: ({ starts }) => {
      const engines = starts
        .filter((start) => start.contestant === contestant)
        .flatMap(({ prepared }) => prepared.models.flatMap(({ engine }) => engine ?? []));
      return engines.length > 0 ? median(engines.map(({ buildCallMs }) => buildCallMs / 1000)) : undefined;
    },
    atMost: bound,
  };
}

/** The figures mean nothing when TensorFlow served instead, or the outputs are wrong. */
function serves(contestant: string): Target {
  return {
    text: `${contestant}: every model is served by TensorRT, from the cache (1 = yes)`,
    value: ({ models }) => {
      const engines = models[contestant]?.map(({ engine }) => engine) ?? [];
      if (engines.length === 0) return undefined;
      return engines.every(
        (engine) => engine?.serving === 'tensorrt' && engine.engines.every(({ fromCache }) => fromCache),
      )
        ? 1
        : 0;
    },
    atLeast: 1,
  };
}

/** How far a contestant's probabilities are from those of Python's TensorFlow in FP32, at most. */
function differenceOf({ models }: Measured, contestant: string): number | undefined {
  const differences = models[contestant]?.map(({ agreement }) => agreement.maxAbsoluteDifference);
  return differences?.length ? Math.max(...differences) : undefined;
}

const FORMATS = ['single-graph', 'single-saved'];

const TARGETS: readonly Target[] = [
  ...FORMATS.flatMap((scenario) => [
    atMost('INT8', scenario, 0.35),
    timesAsFast('INT8', scenario, 8),
    atMost('FP16', scenario, 0.46),
    atMost('TF32', scenario, 1.0),
    atMost('FP32', scenario, 2.15),
  ]),
  atMost('FP16', 'single-resident-graph', 0.41),
  atMost('INT8', 'single-resident-graph', 0.31),
  imagesPerSecond('FP16', 29_000),
  {
    text: 'INT8, large-block-graph: less than 1 of the time of FP16',
    value: (results) =>
      quotient(
        rowOf(results, 'INT8', 'large-block-graph')?.median,
        rowOf(results, 'FP16', 'large-block-graph')?.median,
      ),
    atMost: 0.999,
  },
  atMost('FP16', 'large-pipelined-graph', 7),
  gigabytesPerSecond('upload', 12),
  gigabytesPerSecond('read', 12),
  atMost('bare', 'add', 12, 'µs'),
  ...['INT8', 'FP16', 'TF32', 'FP32'].map((contestant) => ({
    text: `${contestant}, event-loop: at least 90 % of the ticks of an idle loop`,
    value: (results: Measured) => rowOf(results, contestant, 'event-loop')?.median,
    atLeast: 90,
  })),
  engineLoadAtMost('FP16', 3),
  engineLoadAtMost('INT8', 3),
  serves('FP16'),
  serves('INT8'),
  {
    text: "FP32: probabilities differ by at most 0.0001 from those of Python's TensorFlow",
    value: (results) => differenceOf(results, 'FP32'),
    atMost: 1e-4,
  },
  {
    text: 'TF32: they differ by at most 1.25 times as much as those of the peer, which computes in TF32 too',
    value: (results) => quotient(differenceOf(results, 'TF32'), differenceOf(results, 'peer')),
    atMost: 1.25,
  },
];

/** Holds every target against the results; one without a figure is not met. */
export function judge(results: Measured): Verdict[] {
  return TARGETS.map(({ text, value, atLeast = -Infinity, atMost = Infinity }) => {
    const figure = value(results);
    return {
      target: text,
      ...(figure === undefined ? {} : { value: figure }),
      pass: figure !== undefined && figure >= atLeast && figure <= atMost,
    };
  });
}

function rowOf(results: Measured, contestant: string, scenario: string): Row | undefined {
  return results.scenarios
    .find(({ name }) => name === scenario)
    ?.rows.find((row) => row.contestant === contestant);
}

function quotient(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a / b;
}
