/** The progress of the suite, in one line of a terminal that is rewritten; nothing if there is no terminal. */
import type { Outcome } from "./report.js";

/** The part of `process.stderr` that is used. */
export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export interface ProgressLine {
  /** Removes the line, so that other text can be printed. */
  clear(): void;
  /** Counts a case that has ended. */
  add(outcome: Outcome): void;
}

const REDRAW_MS = 100;
const ERASED = "\r\u001b[K";
const NOTHING: ProgressLine = { clear: () => {}, add: () => {} };

/** `process.stderr`; undefined in browsers. */
const standardError = (): Terminal | undefined =>
  typeof process === "undefined" ? undefined : process.stderr;

/** Makes a line that counts up to `total` cases; without a terminal it shows nothing. */
export function progressLine(
  total: number,
  stream: Terminal | undefined = standardError(),
  now: () => number = () => performance.now(),
): ProgressLine {
  if (stream?.isTTY !== true) return NOTHING;
  let [done, failed] = [0, 0];
  let drawnAt = Number.NEGATIVE_INFINITY;
  let isShown = false;
  return {
    clear() {
      if (isShown) stream.write(ERASED);
      isShown = false;
    },
    add({ id, status }) {
      done++;
      if (status === "failed") failed++;
      if (now() - drawnAt < REDRAW_MS) return;
      drawnAt = now();
      isShown = true;
      const line = `conformance: ${done} of ${total} cases, ${failed} failed, ${id}`;
      // A line that is wrapped could not be erased. Some terminals have 0 columns.
      stream.write(`${ERASED}${line.slice(0, (stream.columns || 80) - 1)}`);
    },
  };
}
