import type { BackendManifest } from "@mp/graph";

/** Timers, signals and sockets wait at most about this long while steps follow one another. */
const LONGEST_MS = 8;

/** The ways in which a JavaScript engine may wait for its event loop. */
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
 * Lets the event loop turn between steps. An engine that computes on the calling thread would starve it during
 * training; short steps share one turn.
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

/** Milliseconds; of the wall clock where there is no better. */
const now = (): number => (globalThis as Partial<typeof globalThis>).performance?.now() ?? Date.now();

/** Resolves once waiting timers, events and drawing have had their turn; at once in an engine without an event loop. */
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
