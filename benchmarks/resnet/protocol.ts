import type { Turn } from '../types';
import type { ModelFacts, Settings } from './subject';

/** What a contestant's process is started with. */
export interface ChildOptions extends Settings {
  readonly scenarios: readonly string[];
}

/** First message: the library is loaded and the models are read. Nothing has run on the device yet. */
export interface Opened {
  readonly openMs: number;
  readonly versions: Record<string, string>;
  readonly device: 'cpu' | 'gpu';
}

/** Answer to `prepare`: engines are there and everything is warm. */
export interface PreparedFacts {
  readonly models: readonly ModelFacts[];
  /** From the start of the process until its first prediction was read. */
  readonly firstOutputMs: number;
  /** Scenarios that could not be prepared, with the reason. */
  readonly failures: Record<string, string>;
}

/** Answer to `turn <scenario>`. */
export type TurnAnswer = Turn | { readonly error: string };

export type Answer = PreparedFacts | TurnAnswer;
