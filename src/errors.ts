/** An error of this package. `code` is stable and starts with `TFTRT_`; the message says what failed, what was expected and what to do. */
export class TftrtError extends Error {
  override readonly name = 'TftrtError';
  readonly code: string;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** Ends every error about what the backend needs to start. */
export const DOCTOR_HINT = '`npx tftrt doctor` shows all that the backend needs, and what is there.';

/** What keeps the backend from starting, and what to do about it: the words of the exception and of `tftrt doctor`. */
export class SetupError extends TftrtError {
  constructor(
    code: string,
    readonly problem: string,
    readonly remedy: string,
    /** `hint` is another last line, or with '' none. */
    { hint = DOCTOR_HINT, ...options }: { cause?: unknown; hint?: string } = {},
  ) {
    super(code, [problem, remedy, hint].filter(Boolean).join('\n'), options);
  }
}

/** The error for a call of a model that was disposed of. */
export function disposedModel(label: string): TftrtError {
  return new TftrtError('TFTRT_MODEL_DISPOSED', `The model ${label} is disposed; load it again to use it.`);
}

/** The error of a model's call, which names the model. */
export function failedModel(label: string, error: unknown): unknown {
  if (!(error instanceof TftrtError) || error.message.includes(label)) return error;
  return new TftrtError(error.code, `The model ${label} failed: ${error.message}`, { cause: error });
}

/** What TensorFlow says of a graph that it does not take, with the graph's name. Other errors stay as they are. */
export function notLoaded(graph: string, error: unknown): unknown {
  if (!(error instanceof TftrtError)) return error;
  return new TftrtError(error.code, `${graph} cannot be loaded: ${error.message}`, { cause: error });
}
