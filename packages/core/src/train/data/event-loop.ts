import type { BackendManifest } from "../../manifest.js";

/** Timers, signals and sockets wait at most about this long while steps follow one another. */
const LONGEST_MS = 8;

/**
 * Lets the event loop turn between steps. An engine that computes on the calling thread would starve it during
 * training; short steps share one turn.
 */
export function breather({ eventLoop }: BackendManifest): () => Promise<void> | undefined {
  let last = performance.now();
  const longest = eventLoop === "blocked-during-step" ? LONGEST_MS / 2 : LONGEST_MS;
  return () => {
    if (performance.now() - last < longest) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        last = performance.now();
        resolve();
      });
    });
  };
}
