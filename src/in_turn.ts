/** The last work of each kind that is under way. */
const last = new Map<string, Promise<void>>();

/** Does what has the same key one after the other, in the order of the calls; work that fails keeps nothing back. */
export function inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
  const done = (last.get(key) ?? Promise.resolve()).then(work);
  const ended: Promise<void> = done
    .catch(() => undefined)
    .then(() => {
      if (last.get(key) === ended) last.delete(key);
    });
  last.set(key, ended);
  return done;
}
