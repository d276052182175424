import { constants } from "node:os";
import type { FitTraining } from "@mp/core/fit";
import { checks } from "@mp/graph/internal";
import type { AnyCallback } from "../any-callback.js";
import { prepareFile } from "../log/log-file.js";
import { withReading } from "../with-reading.js";

/** The signals that end training. */
export type StopSignal = "SIGINT" | "SIGTERM";

/** The callback that `saveOnSignal` makes. */
export interface SaveOnSignal extends AnyCallback {
  /** The signal that ended the training; undefined if none did. */
  readonly signal: StopSignal | undefined;
}

const SIGNALS: readonly StopSignal[] = ["SIGINT", "SIGTERM"];
/** One key press may arrive twice within this time: by the shell's process group and by a forwarding parent. */
const ONE_PRESS_MS = 300;

/**
 * Ends training at the first SIGINT (Ctrl-C) or SIGTERM, after the current step and its validation, and saves a
 * checkpoint: `fit` returns with `"stopped"`, and the program continues. A second signal ends the process at once, with
 * exit code 128 plus the signal's number. Signals are handled only during `fit`.
 * @throws MP_INVALID_ARGUMENT for an invalid path; `fit` rejects with MP_IO for a file that cannot be written
 */
export function saveOnSignal(path: string): SaveOnSignal {
  checks.path("saveOnSignal: path", path);
  let training: FitTraining | undefined;
  let signal: StopSignal | undefined;
  let firstAt = 0;
  const handle = (got: StopSignal): void => {
    if (signal === undefined) {
      signal = got;
      firstAt = performance.now();
    } else if (performance.now() - firstAt >= ONE_PRESS_MS) process.exit(128 + constants.signals[got]);
  };
  const answer = (): "stop" | undefined => (signal === undefined ? undefined : "stop");
  const callback: AnyCallback = {
    onStart: (start) => {
      prepareFile(path);
      training = start.training;
      signal = undefined;
      for (const name of SIGNALS) process.on(name, handle);
    },
    onStep: answer,
    onValidation: answer,
    onEpoch: answer,
    onEnd: async ({ ended }) => {
      try {
        if (signal !== undefined && ended !== "failed") await training?.save(path);
      } finally {
        for (const name of SIGNALS) process.off(name, handle);
      }
    },
  };
  return withReading(callback, "signal", () => signal);
}
