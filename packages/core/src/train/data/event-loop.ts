import type { BackendManifest } from "@mp/graph";

/** The longest time, roughly, that timers, signals and sockets wait while steps follow one another. */
const LONGEST_MS = 8;

/** Parts of a JavaScript engine that can yield to its event loop. */
interface Host {
  readonly setImmediate?: (done: () => void) => unknown;
  readonly MessageChannel?: new () => Record<"port1" | "port2", Port>;
  readonly setTimeout?: (done: () => void) => unknown;
}

interface Port {
  onmessage: (() => void) | null;
  postMessage(message: undefined): void;
  close(): void;
}

/**
 * Makes a function that yields to the event loop between steps, at most once in a few milliseconds. Otherwise
 * an engine that computes on the calling thread would starve the loop.
 */
export function breather({ eventLoop }: BackendManifest): () => Promise<void> | undefined {
  let last = now();
  const longest = eventLoop === "blocked-during-step" ? LONGEST_MS / 2 : LONGEST_MS;
  return () => {
    if (now() - last < longest) return undefined;
    return nextTurn().then(() => {
      last = now();
    });
  };
}

/** Time in milliseconds, from the wall clock if there is no better one. */
const now = (): number => (globalThis as Partial<typeof globalThis>).performance?.now() ?? Date.now();

/** Resolves once pending timers, events and drawing have been handled; at once without an event loop. */
async function nextTurn(): Promise<void> {
  const { setImmediate, MessageChannel, setTimeout } = globalThis as unknown as Host;
  if (setImmediate !== undefined) await new Promise<void>((resolve) => setImmediate(resolve));
  // Browsers have no setImmediate, and let nested timers wait 4 ms.
  else if (MessageChannel !== undefined) await nextMessage(new MessageChannel());
  else if (setTimeout !== undefined) await new Promise<void>((resolve) => setTimeout(resolve));
}

function nextMessage({ port1, port2 }: Record<"port1" | "port2", Port>): Promise<void> {
  return new Promise((resolve) => {
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
