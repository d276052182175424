import { setImmediate } from "node:timers/promises";

/** Milliseconds after which timers and sockets get a turn. */
const AFTER_MS = 8;

let lastMs = 0;

/**
 * Yields to the event loop if timers and sockets have had no turn for 8 ms. Short runs end before their
 * promise is awaited, so a caller who awaits many of them in a row would otherwise block the event loop.
 */
export async function breathe(): Promise<void> {
  if (performance.now() - lastMs < AFTER_MS) return;
  await setImmediate();
  lastMs = performance.now();
}
