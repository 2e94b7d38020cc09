import { inspect, types } from 'node:util';
import { TftrtError } from './errors';

/** A value of any kind for an error's message, with its type where that is not to be seen. */
export function shown(value: unknown): string {
  return inspect(value, { depth: 3, breakLength: Number.POSITIVE_INFINITY });
}

/** Of whatever vm context. Such an object has entries, not options. */
function isCollection(options: object): boolean {
  return Array.isArray(options) || types.isMap(options) || types.isSet(options);
}

/** Throws `TFTRT_INVALID_ARGUMENT` for options that are no object, or have one that nobody knows. */
export function requireOptions(caller: string, options: unknown, known: ReadonlySet<string>): void {
  const names = [...known].join(', ');
  const refuse = (what: string, expected: string) =>
    new TftrtError('TFTRT_INVALID_ARGUMENT', `${caller} ${what}; expected ${expected}.`);
  if (typeof options !== 'object' || options === null || isCollection(options)) {
    throw refuse(`takes its options as an object, got ${shown(options)}`, `an object with any of ${names}`);
  }
  const unknown = Object.keys(options).find((name) => !known.has(name));
  if (unknown !== undefined) throw refuse(`has no option '${unknown}'`, `one of ${names}`);
}
