type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;

/** A function that takes the place of a method, and remembers its calls. */
export interface Spy extends AnyFunction {
  readonly calls: Calls;
  readonly and: Strategies;
}

class Calls {
  readonly list: Array<{ args: unknown[]; returnValue: unknown }> = [];
  count = () => this.list.length;
  any = () => this.list.length > 0;
  argsFor = (index: number) => this.list[index]?.args ?? [];
  allArgs = () => this.list.map(({ args }) => args);
  all = () => this.list;
  first = () => this.list[0];
  mostRecent = () => this.list.at(-1);
  reset = () => {
    this.list.length = 0;
  };
}

class Strategies {
  run: AnyFunction = () => undefined;

  constructor(
    private readonly spy: () => Spy,
    private readonly original: AnyFunction,
  ) {}

  callFake = (fake: AnyFunction) => this.use(fake);
  callThrough = () => this.use(this.original);
  stub = () => this.use(() => undefined);
  returnValue = (value: unknown) => this.use(() => value);
  returnValues = (...values: unknown[]) => this.use(() => values.shift());
  throwError = (error: unknown) =>
    this.use(() => {
      throw error instanceof Error ? error : new Error(String(error));
    });

  private use(strategy: AnyFunction): Spy {
    this.run = strategy;
    return this.spy();
  }
}

/** Undoes spies in the order opposite to that of their making. */
type Undo = () => void;

/** A spy belongs to the hook or spec that made it: those of a `beforeAll` live until its suite ends, others until their spec does. */
export class SpyRegistry {
  private readonly scopes: Undo[][] = [[]];

  enter(): void {
    this.scopes.push([]);
  }

  leave(): void {
    for (const undo of this.scopes.pop()!.reverse()) undo();
  }

  /** Makes the scope into which spies go for the time of `spyOn` calls within a suite's hook. */
  spyOn = (object: Record<string, unknown>, method: string): Spy => {
    const original = object[method] as AnyFunction;
    if (typeof original !== 'function') throw new Error(`spyOn: there is no method ${method}`);
    const own = Object.getOwnPropertyDescriptor(object, method);
    const spy = createSpy(original);
    object[method] = spy;
    if (object[method] !== spy) throw new Error(`spyOn: the method ${method} cannot be replaced`);
    this.scopes.at(-1)!.push(() => {
      if (own === undefined) delete object[method];
      else Object.defineProperty(object, method, own);
    });
    return spy;
  };
}

/** A spy on its own. */
export function createSpy(original: AnyFunction = () => undefined): Spy {
  const calls = new Calls();
  const strategies: Strategies = new Strategies(() => spy, original);
  const spy = Object.assign(
    function (this: unknown, ...args: unknown[]): unknown {
      const call = { args, returnValue: undefined as unknown };
      calls.list.push(call);
      call.returnValue = strategies.run.apply(this, args);
      return call.returnValue;
    },
    { calls, and: strategies },
  );
  return spy;
}

/** Whether a value is a spy. */
export function isSpy(value: unknown): value is Spy {
  return typeof value === 'function' && 'calls' in value && value.calls instanceof Calls;
}
