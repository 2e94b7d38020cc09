/** An error of this package. `code` is stable and starts with `TFTRT_`; the message says what failed, what was expected and what to do. */
export class TftrtError extends Error {
  override readonly name = 'TftrtError';
  readonly code: string;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** The error for a call of a model that was disposed of. */
export function disposedModel(label: string): TftrtError {
  return new TftrtError('TFTRT_MODEL_DISPOSED', `The model ${label} is disposed; load it again to use it.`);
}
