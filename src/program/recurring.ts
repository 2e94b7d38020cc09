import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { TftrtBackend } from '../backend/backend';
import type { Program } from './program';

/** A call that came many times with the same shapes, and that TensorFlow serves. */
export interface RecurringCall {
  readonly backend: TftrtBackend;
  readonly program: Program;
  readonly feeds: string[];
  readonly fetches: string[];
  /** Of this time; the caller owns them. */
  readonly inputs: readonly TensorInfo[];
}

/** Returns false to be told again later. */
export type RecurringListener = (call: RecurringCall) => boolean;

let listener: RecurringListener | undefined;

/** Sets who is told of recurring calls. */
export function onRecurringCall(told: RecurringListener): void {
  listener = told;
}

export function tellOfRecurringCall(call: RecurringCall): boolean {
  return listener?.(call) ?? true;
}
