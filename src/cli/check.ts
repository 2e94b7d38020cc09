/** What a check came to. `not needed` is for what a machine without a GPU does without. */
export type Status = 'ok' | 'missing' | 'wrong' | 'not needed';

/** A row of `tftrt doctor`. */
export interface Check {
  readonly name: string;
  readonly status: Status;
  readonly version?: string;
  /** Where it is, or what was computed on. */
  readonly path?: string;
  readonly problem?: string;
  /** What to do. */
  readonly remedy?: string;
}

/** What keeps the backend from starting, in the words of its exception (see SetupError). */
export interface Complaint {
  readonly code: string;
  readonly problem: string;
  readonly remedy: string;
}

/** All that `tftrt doctor` says. */
export interface Diagnosis {
  readonly ok: boolean;
  readonly checks: readonly Check[];
  readonly complaints: readonly Complaint[];
}

/** Whether a row is as it should be. */
export function isWell({ status }: Check): boolean {
  return status === 'ok' || status === 'not needed';
}
