import { constants } from "node:os";

type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

const SIGNALS: readonly StopSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"];
/** Time within which a second signal is the same key press, from the shell and from a parent that forwards it. */
const ONE_PRESS_MS = 300;

/** Turns signals into an `AbortSignal`, so that the current step can end and the state can be saved. */
export interface Interrupt {
  readonly signal: AbortSignal;
  /** 128 plus the signal's number, as in shells; undefined if there was no signal. */
  exitCode(): number | undefined;
  /** Restores Node's default signal handling. */
  release(): void;
}

/** Calls `announce` and aborts `signal` at the first signal; a second one ends the process at once. */
export function catchInterrupts(announce: (signal: StopSignal) => void): Interrupt {
  const controller = new AbortController();
  let code: number | undefined;
  let firstAt = 0;
  const handle = (signal: StopSignal): void => {
    const at = performance.now();
    if (code === undefined) {
      code = 128 + constants.signals[signal];
      firstAt = at;
      announce(signal);
      controller.abort();
    } else if (at - firstAt >= ONE_PRESS_MS) {
      process.exit(128 + constants.signals[signal]);
    }
  };
  for (const signal of SIGNALS) process.on(signal, handle);
  return {
    signal: controller.signal,
    exitCode: () => code,
    release: () => {
      for (const signal of SIGNALS) process.off(signal, handle);
    },
  };
}
