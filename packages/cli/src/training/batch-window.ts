import { setImmediate } from "node:timers/promises";

const LONGEST_TURN_MS = 50;

/** The microbatches of a step; undefined at the end of the data, and once the run is stopped. */
export async function batchWindow<B>(
  batches: AsyncIterator<B>,
  count: number,
  signal: AbortSignal,
): Promise<readonly B[] | undefined> {
  const window: B[] = [];
  let turnedAt = performance.now();
  while (window.length < count) {
    // Ctrl-C needs a turn of the event loop, which batches that are ready immediately do not give.
    if (performance.now() - turnedAt > LONGEST_TURN_MS) {
      await setImmediate();
      turnedAt = performance.now();
    }
    if (signal.aborted) return undefined;
    const next = await batches.next();
    if (next.done === true) return undefined;
    window.push(next.value);
  }
  return signal.aborted ? undefined : window;
}
