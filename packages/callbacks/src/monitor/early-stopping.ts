import { checks, readOptions, withDefault } from "@mp/core/internal";
import type { AnyCallback } from "../any-callback.js";
import { withReading } from "../with-reading.js";
import { type Best, betterBy, DELTA, type MonitorOptions } from "./best.js";
import { Monitor, type MonitorState } from "./monitor.js";

/** Options of `earlyStopping`. */
export interface EarlyStoppingOptions extends MonitorOptions {
  /** Values in a row that are not better until training ends; default 3. */
  readonly patience?: number;
}

/** The callback that `earlyStopping` makes. */
export interface EarlyStopping extends AnyCallback {
  /** The best value so far; undefined before the first. */
  readonly best: Best | undefined;
}

const OPTIONS = {
  monitor: withDefault("validation/loss", checks.text),
  mode: checks.optional(checks.oneOf("min", "max")),
  minDelta: withDefault(0, DELTA),
  patience: withDefault(3, checks.count),
  name: checks.optional(checks.text),
};

/**
 * Ends training when a number has not become better `patience` times in a row, as Keras's and Lightning's `EarlyStopping`
 * do. `fit` then ends with `"stopped"`. It keeps no weights: `keepBest` does.
 * @throws MP_INVALID_ARGUMENT for options; `fit` rejects with one that names what exists for an unknown monitor
 */
export function earlyStopping(options: EarlyStoppingOptions = {}): EarlyStopping {
  const read = readOptions<EarlyStoppingOptions, typeof OPTIONS>("earlyStopping", options, OPTIONS, {
    example: "{ patience: 3 }",
    elsewhere: {
      restoreBestWeights: "keepBest keeps the best weights in a file",
      verbose: "it prints nothing",
    },
  });
  const { monitor: number, patience, name = `earlyStopping ${number}` } = read;
  const isBetter = betterBy("earlyStopping", { ...read, mode: read.mode });
  const monitor = new Monitor("earlyStopping", number);
  let best: Best | undefined;
  let waited = 0;
  const callback: AnyCallback = {
    ...monitor.following((value, { step, epoch }) => {
      if (isBetter(value, best?.value)) {
        best = { value, step, epoch };
        waited = 0;
        return undefined;
      }
      waited++;
      return waited >= patience ? "stop" : undefined;
    }),
    state: {
      name,
      save: () => ({ best: best === undefined ? null : { ...best }, waited, monitor: monitor.save() }),
      load: (saved) => {
        const state = saved as unknown as Saved;
        best = state.best ?? undefined;
        waited = state.waited;
        monitor.load(state.monitor);
      },
    },
  };
  return withReading(callback, "best", () => best);
}

interface Saved {
  readonly best: Best | null;
  readonly waited: number;
  readonly monitor: MonitorState;
}
