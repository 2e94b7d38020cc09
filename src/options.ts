import { TftrtError } from './errors';

/** Throws `TFTRT_INVALID_ARGUMENT` for options that are no object, or have one that nobody knows. */
export function requireOptions(caller: string, options: unknown, known: ReadonlySet<string>): void {
  const names = [...known].join(', ');
  const refuse = (what: string, expected: string) =>
    new TftrtError('TFTRT_INVALID_ARGUMENT', `${caller} ${what}; expected ${expected}.`);
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    const given = Array.isArray(options) ? 'a list' : typeof options === 'string' ? `'${options}'` : options;
    throw refuse(`takes its options as an object, got ${String(given)}`, `an object with any of ${names}`);
  }
  const unknown = Object.keys(options).find((name) => !known.has(name));
  if (unknown !== undefined) throw refuse(`has no option '${unknown}'`, `one of ${names}`);
}
