import type * as tfjs from '@tensorflow/tfjs';

/** The two sides of the comparison. */
export type SideName = 'tftrt' | 'peer';

/** What a case uses of a SavedModel, on either side. */
export interface SavedModel {
  predict(inputs: tfjs.Tensor): unknown;
  dispose(): void;
}

/** One library under measurement, open in a process of its own. */
export interface Side {
  readonly name: SideName;
  /** The side's tfjs, with its backend chosen. */
  readonly tf: typeof tfjs;
  /** Versions that a reader of the results needs. */
  readonly versions: Record<string, string>;
  readonly device: 'cpu' | 'gpu';
  loadSavedModel(folder: string): Promise<SavedModel>;
  /** How many tensors the addon itself holds, where the side can tell. */
  nativeTensors?(): number;
}

/** Folders of the models that the cases load. */
export interface Models {
  /** A MobileNetV2 of 224 x 224 as a TensorFlow SavedModel. */
  readonly mobilenetSavedModel: string;
  /** The same network as a tfjs GraphModel (the folder of its model.json). */
  readonly mobilenetGraphModel: string;
  /** A GraphModel of one op. */
  readonly oneOpGraphModel: string;
  /** A GraphModel that runs for at least 300 ms on the reference machine. */
  readonly slowGraphModel: string;
}

/** What one turn of a process yields. */
export interface Turn {
  /** Measurements in the unit of the case. */
  readonly samples: number[];
  /** Other figures worth keeping, such as the time beside a count. */
  readonly figures?: Record<string, number>;
}

/** A case made ready in a child process. */
export interface Prepared {
  /** Runs the thing once, measured or not. */
  readonly warmUp: () => unknown;
  /** Measures for one turn. */
  readonly turn: () => Promise<Turn>;
  /** Some values that the thing computes; the two sides must agree on them. */
  readonly output?: () => number[];
}

/** A benchmark: one thing done with the same user code on each side. */
export interface Case {
  readonly name: string;
  readonly title: string;
  readonly unit: 'ms' | 'µs' | 'ticks' | 'MB';
  readonly better: 'lower' | 'higher';
  readonly sides: readonly SideName[];
  /** True for a case that is one long run: it gets a single round of a single turn. */
  readonly once?: boolean;
  readonly targets?: readonly Target[];
  prepare(side: Side, models: Models): Promise<Prepared>;
}

/** A promise about a case that `--check` holds it to. */
export interface Target {
  /** What must hold, in words, with the bound. */
  readonly text: string;
  /** The figure to compare with the bound; undefined when a side it needs was not run. */
  readonly value: (result: CaseResult) => number | undefined;
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** Statistics of all samples of one side. */
export interface Summary {
  readonly count: number;
  readonly min: number;
  readonly median: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
}

/** What one side did in one case. */
export interface SideResult extends Summary {
  readonly roundMedians: readonly number[];
  /** Loading the library and choosing the backend. */
  readonly openMs: number;
  /** Preparing the case, its model included, and running it once. */
  readonly firstRunMs: number;
  /** Medians of the extra figures of the turns. */
  readonly figures: Record<string, number>;
  /** CPU cores that this side's process used while it waited for its turns: should be 0. */
  readonly coresWhileWaiting: number;
  /** CPU cores that anything else on the machine used during this side's turns. */
  readonly coresOfOthers: number;
}

/** The outcome of one case. */
export interface CaseResult {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly better: 'lower' | 'higher';
  readonly sides: Partial<Record<SideName, SideResult>>;
  /** tftrt divided by peer, round by round, of the medians of the round. */
  readonly ratios: readonly number[];
  /** Largest difference between the sides' outputs over the range of the outputs. */
  readonly outputDifference?: number;
}
