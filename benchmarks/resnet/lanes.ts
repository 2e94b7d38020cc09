/** Calls `task` again and again in `lanes` chains at a time, each call with the number of its lane, while `more()` says so. */
export async function inLanes(
  lanes: number,
  more: () => boolean,
  task: (lane: number) => Promise<void>,
): Promise<void> {
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      while (more()) await task(lane);
    }),
  );
}
