// Type tests: what is in this folder is compiled, and never run. Where a line should be an error, `@ts-expect-error` stands above
// it, and is an error itself if there is none.

/** Whether two types are the same; not just whether one can be assigned to the other. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Takes a value whose type is exactly `Expected`: `expectType<number>()(value)`. */
export declare function expectType<Expected>(): <Actual>(
  value: Actual,
  ...wrong: Same<Actual, Expected> extends true ? [] : [expected: Expected]
) => void;
