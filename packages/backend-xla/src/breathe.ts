import { setImmediate } from "node:timers/promises";

/** Time after which timers and sockets get a turn. */
const AFTER_MS = 8;

let lastMs = 0;

/**
 * Lets timers and sockets have a turn if they have had none for a while: a caller who awaits short runs one after the
 * other, which end before they are waited for, would keep the event loop to itself.
 */
export async function breathe(): Promise<void> {
  if (performance.now() - lastMs < AFTER_MS) return;
  await setImmediate();
  lastMs = performance.now();
}
