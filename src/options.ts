import { inspect } from 'node:util';
import { TftrtError } from './errors';

/** A value of any kind for an error's message, with its type where that is not to be seen. */
export function shown(value: unknown): string {
  return inspect(value, { depth: 3, breakLength: Number.POSITIVE_INFINITY });
}

/** Throws `TFTRT_INVALID_ARGUMENT` for options that are no object, or have one that nobody knows. */
export function requireOptions(caller: string, options: unknown, known: ReadonlySet<string>): void {
  const names = [...known].join(', ');
  const refuse = (what: string, expected: string) =>
    new TftrtError('TFTRT_INVALID_ARGUMENT', `${caller} ${what}; expected ${expected}.`);
  // Of whatever vm context: a Map, or a list, has no options.
  if (Object.prototype.toString.call(options) !== '[object Object]') {
    throw refuse(`takes its options as an object, got ${shown(options)}`, `an object with any of ${names}`);
  }
  const unknown = Object.keys(options as object).find((name) => !known.has(name));
  if (unknown !== undefined) throw refuse(`has no option '${unknown}'`, `one of ${names}`);
}
