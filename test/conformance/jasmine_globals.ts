// jasmine's interface on top of mocha's, as far as tfjs-core's specs use it.

import { arrayWithExactContents, check, matchers, matchesError } from './matchers';
import { createSpy, SpyRegistry } from './spies';

type Done = ((error?: unknown) => void) & { fail(reason?: unknown): void };
type Body = (this: Mocha.Context, done: Done) => unknown;

/** How long a spec or hook may take, as in tfjs-core's own runs. */
const TIMEOUT_MS = 20_000;

/** Expectations that failed in the running spec, whether or not somebody caught the exception. */
let failures: Error[] = [];
let running: Mocha.Context | undefined;
const spies = new SpyRegistry();

/** Puts jasmine's globals in place of mocha's; call it once mocha's are there. */
export function installJasmineGlobals(globals: Record<string, unknown>): void {
  const mocha = {
    describe: globals.describe as Mocha.SuiteFunction,
    it: globals.it as Mocha.TestFunction,
    before: globals.before as Mocha.HookFunction,
    after: globals.after as Mocha.HookFunction,
    beforeEach: globals.beforeEach as Mocha.HookFunction,
    afterEach: globals.afterEach as Mocha.HookFunction,
  };
  const describe = (name: string, body: () => void) =>
    mocha.describe(name, () => {
      // Spies of the suite's beforeAll hooks live as long as the suite; those of a spec and its hooks, as long as the spec.
      mocha.before(() => spies.enter());
      mocha.after(() => spies.leave());
      body();
    });
  const it = (name: string, body: Body, timeout?: number) => mocha.it(name, runnable(body, timeout));
  const pendingSpec = (name: string) => mocha.it(name);

  Object.assign(globals, {
    describe,
    fdescribe: describe,
    xdescribe: mocha.describe.skip,
    it,
    fit: it,
    xit: pendingSpec,
    beforeAll: (body: Body, timeout?: number) => mocha.before(runnable(body, timeout)),
    afterAll: (body: Body, timeout?: number) => mocha.after(runnable(body, timeout)),
    beforeEach: (body: Body, timeout?: number) => mocha.beforeEach(runnable(body, timeout)),
    afterEach: (body: Body, timeout?: number) => mocha.afterEach(runnable(body, timeout)),
    expect,
    expectAsync,
    fail: (reason?: unknown) => {
      throw record(toError(reason));
    },
    pending: () => running!.skip(),
    spyOn: spies.spyOn,
    jasmine: { arrayWithExactContents, createSpy, DEFAULT_TIMEOUT_INTERVAL: TIMEOUT_MS },
  });

  mocha.beforeEach(() => {
    failures = [];
    spies.enter();
  });
  mocha.afterEach(function (this: Mocha.Context) {
    spies.leave();
    const [failure] = failures;
    failures = [];
    if (failure !== undefined && this.currentTest?.state !== 'failed') throw failure;
  });
}

/** A body as mocha wants it: `done` has jasmine's `fail`, and what is returned next to it is ignored. */
function runnable(body: Body, timeout = TIMEOUT_MS): Mocha.Func | Mocha.AsyncFunc {
  if (body.length === 0) {
    return function (this: Mocha.Context) {
      running = this;
      this.timeout(timeout);
      return body.call(this, undefined as unknown as Done) as PromiseLike<unknown>;
    };
  }
  return function (this: Mocha.Context, mochaDone: Mocha.Done) {
    running = this;
    this.timeout(timeout);
    const done = Object.assign((error?: unknown) => mochaDone(error instanceof Error ? error : undefined), {
      fail: (reason?: unknown) => mochaDone(toError(reason)),
    });
    body.call(this, done);
  };
}

function expect(actual: unknown) {
  const withNegation = (negated: boolean) =>
    Object.fromEntries(
      Object.keys(matchers).map((name) => [
        name,
        (...args: unknown[]) => {
          try {
            check(name, actual, args, negated);
          } catch (failure) {
            throw record(failure as Error);
          }
        },
      ]),
    );
  return { ...withNegation(false), not: withNegation(true), nothing: () => {} };
}

function expectAsync(actual: PromiseLike<unknown>) {
  return {
    async toBeRejectedWithError(...expected: unknown[]): Promise<void> {
      let error: unknown;
      try {
        await actual;
      } catch (reason) {
        if (matchesError(reason, expected)) return;
        error = reason;
      }
      throw record(
        new Error(`expected the promise to be rejected with ${expected.join(', ')}, got ${error}`),
      );
    },
  };
}

function record(failure: Error): Error {
  failures.push(failure);
  return failure;
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason ?? 'failed'));
}
