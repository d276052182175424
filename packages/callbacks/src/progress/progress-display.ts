import { createLogUpdate } from "log-update";
import { formatBar, formatLine, type ProgressState, type ProgressUpdate } from "./progress-line.js";
import { StepRate } from "./step-rate.js";

export interface ProgressDisplayOptions {
  /** Name of the run, such as `float32`. */
  readonly label: string;
  /** The last step of the run; if it is not known at first, each update may give it. */
  readonly total?: number;
}

/** The stream that shows progress, such as `process.stderr`. */
export type ProgressStream = NodeJS.WriteStream;

/** Shows the progress of a run. */
export interface ProgressDisplay {
  update(update: ProgressUpdate): void;
  /** Writes a line above the bar, where it stays on the screen. */
  note(line: string): void;
  /** Ends the display, with the last state left on the screen. */
  end(): void;
}

const REDRAW_MS = 100;
const LINE_EVERY_MS = 5_000;

/**
 * Shows the progress of work other than `fit`, which has the callback `progress`: a bar on a terminal, a plain line every
 * five seconds elsewhere. Writes to standard error by default, so that standard output holds only results.
 */
export function progressDisplay(
  options: ProgressDisplayOptions,
  stream: ProgressStream = process.stderr,
  now: () => number = () => performance.now(),
): ProgressDisplay {
  const rate = new StepRate();
  const toState = (update: ProgressUpdate): ProgressState => ({
    total: options.total,
    ...update,
    label: options.label,
    stepsPerSecond: rate.add(update.step, now()),
  });
  const isTerminal = stream.isTTY === true && process.env["TERM"] !== "dumb";
  return isTerminal ? bar(stream, toState, now) : lines(stream, toState, now);
}

function bar(
  stream: ProgressStream,
  stateOf: (update: ProgressUpdate) => ProgressState,
  now: () => number,
): ProgressDisplay {
  // The cursor stays visible, because a killed process could not restore it.
  const terminal = createLogUpdate(stream, { showCursor: true });
  let state: ProgressState | undefined;
  let drawnAt = Number.NEGATIVE_INFINITY;
  const draw = (): void => {
    if (state !== undefined) terminal(formatBar(state, stream.columns ?? 80));
    drawnAt = now();
  };
  return {
    update(update) {
      state = stateOf(update);
      if (now() - drawnAt >= REDRAW_MS) draw();
    },
    note(line) {
      terminal.clear();
      stream.write(`${line}\n`);
      draw();
    },
    end() {
      draw();
      terminal.done();
      state = undefined;
    },
  };
}

function lines(
  stream: ProgressStream,
  stateOf: (update: ProgressUpdate) => ProgressState,
  now: () => number,
): ProgressDisplay {
  let writtenAt = Number.NEGATIVE_INFINITY;
  let unwritten: ProgressState | undefined;
  const write = (state: ProgressState): void => {
    stream.write(`${formatLine(state)}\n`);
    writtenAt = now();
    unwritten = undefined;
  };
  return {
    update(update) {
      const state = stateOf(update);
      if (now() - writtenAt >= LINE_EVERY_MS) write(state);
      else unwritten = state;
    },
    note: (line) => void stream.write(`${line}\n`),
    end() {
      if (unwritten !== undefined) write(unwritten);
    },
  };
}
