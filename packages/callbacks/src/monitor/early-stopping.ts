import { checks, readOptions, withDefault } from "@mp/graph/internal";
import type { AnyCallback } from "../any-callback.js";
import { withReading } from "../with-reading.js";
import { BestSoFar, type BestState } from "./best-so-far.js";
import { type Best, MONITOR, type MonitorOptions } from "./is-better.js";

/** Options of `earlyStopping`: the number to follow, and the patience. */
export interface EarlyStoppingOptions extends MonitorOptions {
  /** Number of values in a row without improvement after which training ends; default 3. */
  readonly patience?: number;
}

/** The callback that `earlyStopping` makes, with the best value so far. */
export interface EarlyStopping extends AnyCallback {
  /** The best value so far; undefined before the first. */
  readonly best: Best | undefined;
}

const OPTIONS = { ...MONITOR, patience: withDefault(3, checks.count) };

/**
 * Ends training when the monitored number has not improved `patience` times in a row, like `EarlyStopping` of Keras and
 * Lightning. `fit` then returns with `"stopped"`. The weights are then the last ones;
 * `keepBest({ path, restore: true })` beside it puts the best ones back.
 * @throws MP_INVALID_ARGUMENT for invalid options; `fit` rejects with it for an unknown monitor, naming the known ones
 */
export function earlyStopping(options: EarlyStoppingOptions = {}): EarlyStopping {
  const read = readOptions<EarlyStoppingOptions, typeof OPTIONS>("earlyStopping", options, OPTIONS, {
    example: "{ patience: 3 }",
    elsewhere: {
      restoreBestWeights: "keepBest({ path, restore: true }) beside it puts the best weights back",
      verbose: "it prints nothing",
    },
  });
  const { patience, name = `earlyStopping ${read.monitor}` } = read;
  const followed = new BestSoFar("earlyStopping", read);
  let waited = 0;
  const callback: AnyCallback = {
    ...followed.hooks((isBest) => {
      waited = isBest ? 0 : waited + 1;
      return waited >= patience ? "stop" : undefined;
    }),
    state: {
      name,
      save: () => ({ ...followed.save(), waited }),
      load: (saved) => {
        const state = saved as unknown as BestState & { readonly waited: number };
        followed.load(state);
        waited = state.waited;
      },
    },
  };
  return withReading(callback, "best", () => followed.best);
}
