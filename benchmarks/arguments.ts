import { TftrtError } from '#src/errors';

/** A whole number above 0 from the command line; `usage` ends the error for another. */
export function wholeNumber(
  name: string,
  text: string | undefined,
  otherwise: number,
  usage?: string,
): number {
  const value = text === undefined ? otherwise : Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  const message = `--${name} is '${text}'; expected a whole number above 0.`;
  throw new TftrtError('TFTRT_BENCH_USAGE', usage === undefined ? message : `${message}\n${usage}`);
}
