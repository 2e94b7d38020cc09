/** An error of this package. `code` is stable and starts with `TFTRT_`; the message says what failed, what was expected and what to do. */
export class TftrtError extends Error {
  override readonly name = 'TftrtError';
  readonly code: string;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
