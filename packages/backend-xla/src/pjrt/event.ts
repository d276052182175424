import type { Plugin } from "./plugin.js";

/**
 * Waits for an event and destroys it. A thread other than Node's main thread waits, so that timers and
 * sockets go on; the process does not end while it waits.
 * @throws the error with which the event ended
 */
export function settle(plugin: Plugin, event: bigint): Promise<void> | void {
  const asked = plugin.call("Event_IsReady", { event });
  if (!asked.truth("is_ready"))
    return plugin.callAsync("Event_Await", { event }).then(
      () => drop(plugin, event),
      (error: unknown) => {
        drop(plugin, event);
        throw error;
      },
    );
  try {
    plugin.call("Event_Await", { event });
  } finally {
    drop(plugin, event);
  }
}

/** Destroys an event that nobody waits for. */
export function drop(plugin: Plugin, event: bigint): void {
  if (event !== 0n) plugin.call("Event_Destroy", { event });
}

/** Calls all wait functions in turn, even if one fails. @throws the first failure */
export async function settleAll<R>(waits: readonly (() => Promise<R> | R)[]): Promise<readonly R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  for (const wait of waits) {
    try {
      const result = wait();
      results.push(result instanceof Promise ? await result : result);
    } catch (error) {
      failures.push(error);
    }
  }
  for (const failure of failures) throw failure;
  return results;
}
