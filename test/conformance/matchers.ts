import { inspect, isDeepStrictEqual } from 'node:util';
import { isSpy } from './spies';

/** What a matcher found; `expected` completes the sentence "expected X …". */
interface Verdict {
  readonly pass: boolean;
  readonly expected: string;
}
type Matcher = (actual: unknown, ...args: unknown[]) => Verdict;

/** Compares with anything by a rule of its own. */
export interface AsymmetricMatcher {
  asymmetricMatch(actual: unknown): boolean;
}

const isAsymmetric = (value: unknown): value is AsymmetricMatcher =>
  typeof (value as Partial<AsymmetricMatcher> | null)?.asymmetricMatch === 'function';

/** jasmine's `toEqual`: deep, strict, NaN equal to itself; errors by their message. */
export function equal(actual: unknown, expected: unknown): boolean {
  if (isAsymmetric(expected)) return expected.asymmetricMatch(actual);
  if (actual instanceof Error && expected instanceof Error) return actual.message === expected.message;
  return isDeepStrictEqual(actual, expected);
}

/** `jasmine.arrayWithExactContents`: the same elements in any order. */
export function arrayWithExactContents(expected: readonly unknown[]): AsymmetricMatcher {
  return {
    asymmetricMatch(actual) {
      if (!Array.isArray(actual) || actual.length !== expected.length) return false;
      const rest = [...actual];
      return expected.every((item) => {
        const index = rest.findIndex((candidate) => equal(candidate, item));
        if (index >= 0) rest.splice(index, 1);
        return index >= 0;
      });
    },
  };
}

const show = (value: unknown) => inspect(value, { depth: 4, maxArrayLength: 20 });
const verdict = (pass: boolean, expected: string): Verdict => ({ pass, expected });
const compare =
  (test: (a: number, b: number) => boolean, words: string): Matcher =>
  (actual, expected) =>
    verdict(test(actual as number, expected as number), `${words} ${show(expected)}`);
const state =
  (test: (actual: unknown) => boolean, words: string): Matcher =>
  (actual) =>
    verdict(test(actual), words);

/** Every matcher that the suite uses. */
export const matchers: Record<string, Matcher> = {
  toBe: (actual, expected) => verdict(actual === expected, `to be ${show(expected)}`),
  toEqual: (actual, expected) => verdict(equal(actual, expected), `to equal ${show(expected)}`),
  toBeCloseTo: (actual, expected, precision = 2) => {
    const distance = Math.abs((expected as number) - (actual as number));
    return verdict(
      actual === expected || distance * 10 ** (precision as number) < 0.5,
      `to be close to ${show(expected)}`,
    );
  },
  toBeDefined: state((actual) => actual !== undefined, 'to be defined'),
  toBeUndefined: state((actual) => actual === undefined, 'to be undefined'),
  toBeNull: state((actual) => actual === null, 'to be null'),
  toBeNaN: state((actual) => Number.isNaN(actual), 'to be NaN'),
  toBeTrue: state((actual) => actual === true, 'to be true'),
  toBeFalse: state((actual) => actual === false, 'to be false'),
  toBeTruthy: state(Boolean, 'to be truthy'),
  toBeFalsy: state((actual) => !actual, 'to be falsy'),
  toBeGreaterThan: compare((a, b) => a > b, 'to be greater than'),
  toBeGreaterThanOrEqual: compare((a, b) => a >= b, 'to be at least'),
  toBeLessThan: compare((a, b) => a < b, 'to be less than'),
  toBeLessThanOrEqual: compare((a, b) => a <= b, 'to be at most'),
  toBeInstanceOf: (actual, expected) =>
    verdict(actual instanceof (expected as new () => object), `to be an instance of ${show(expected)}`),
  toContain: (actual, expected) =>
    verdict(
      typeof actual === 'string'
        ? actual.includes(expected as string)
        : Array.from(actual as Iterable<unknown>).some((item) => equal(item, expected)),
      `to contain ${show(expected)}`,
    ),
  toMatch: (actual, expected) =>
    verdict(new RegExp(expected as string).test(actual as string), `to match ${show(expected)}`),
  toThrow: (actual, ...expected) => {
    const thrown = thrownBy(actual);
    const pass = thrown !== undefined && (expected.length === 0 || equal(thrown.value, expected[0]));
    return verdict(pass, `to throw ${expected.length > 0 ? show(expected[0]) : 'something'}${but(thrown)}`);
  },
  toThrowError: (actual, ...expected) => {
    const thrown = thrownBy(actual);
    return verdict(
      thrown !== undefined && matchesError(thrown.value, expected),
      `to throw ${show(expected)}${but(thrown)}`,
    );
  },
  toHaveBeenCalled: (actual) => verdict(callsOf(actual).length > 0, 'to have been called'),
  toHaveBeenCalledTimes: (actual, expected) =>
    verdict(
      callsOf(actual).length === expected,
      `to have been called ${expected} times, was ${callsOf(actual).length}`,
    ),
  toHaveBeenCalledWith: (actual, ...expected) =>
    verdict(
      callsOf(actual).some(
        ({ args }) => args.length === expected.length && args.every((arg, i) => equal(arg, expected[i])),
      ),
      `to have been called with ${show(expected)}`,
    ),
};

/** Throws unless the matcher's verdict is the one wanted. */
export function check(name: string, actual: unknown, args: unknown[], negated: boolean): void {
  const matcher = matchers[name];
  if (matcher === undefined) throw new Error(`no matcher ${name}`);
  const { pass, expected } = matcher(actual, ...args);
  if (pass === negated) throw new Error(`expected ${show(actual)} ${negated ? 'not ' : ''}${expected}`);
}

/** Whether an error is what `toThrowError(…)` and `toBeRejectedWithError(…)` were given: [type][, message or pattern]. */
export function matchesError(error: unknown, expected: readonly unknown[]): boolean {
  if (!(error instanceof Error)) return false;
  const [type, message] = typeof expected[0] === 'function' ? expected : [undefined, expected[0]];
  if (type !== undefined && !(error instanceof (type as typeof Error))) return false;
  if (message === undefined) return true;
  return message instanceof RegExp ? message.test(error.message) : error.message === message;
}

function thrownBy(actual: unknown): { value: unknown } | undefined {
  if (typeof actual !== 'function') throw new Error(`expected a function, got ${show(actual)}`);
  try {
    actual();
    return undefined;
  } catch (value) {
    return { value };
  }
}

function but(thrown: { value: unknown } | undefined): string {
  if (thrown === undefined) return ', but nothing was thrown';
  return `, but this was thrown: ${thrown.value instanceof Error ? thrown.value.message : show(thrown.value)}`;
}

function callsOf(spy: unknown) {
  if (!isSpy(spy)) throw new Error(`expected a spy, got ${show(spy)}`);
  return spy.calls.list;
}
