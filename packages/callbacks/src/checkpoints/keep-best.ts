import type { FitTraining } from "@mp/core/fit";
import { checks, readOptions } from "@mp/graph/internal";
import type { AnyCallback } from "../any-callback.js";
import { prepareFile } from "../log/log-file.js";
import { BestSoFar, type BestState } from "../monitor/best-so-far.js";
import { type Best, MONITOR, type MonitorOptions } from "../monitor/is-better.js";
import { withReading } from "../with-reading.js";

/** Options of `keepBest`: the number to follow, and the file. */
export interface KeepBestOptions extends MonitorOptions {
  /** File of the best checkpoint so far. */
  readonly path: string;
}

/** The callback that `keepBest` makes, with the best value so far. */
export interface KeepBest extends AnyCallback {
  /** The value and step of the checkpoint in the file; undefined before the first value. */
  readonly best: Best | undefined;
}

const OPTIONS = { ...MONITOR, path: checks.path };

/**
 * Saves a checkpoint each time a number is better than ever before. Training can be resumed from it, and
 * `loadParameters` reads it. The file is replaced atomically, so it is readable at any moment. A resumed run continues
 * with the best value of its checkpoint.
 * @throws MP_INVALID_ARGUMENT for options; `fit` rejects with one that names what exists for an unknown monitor, and
 * with MP_IO for a file that cannot be written
 */
export function keepBest(options: KeepBestOptions): KeepBest {
  const read = readOptions<KeepBestOptions, typeof OPTIONS>("keepBest", options, OPTIONS, {
    example: '{ path: "best.safetensors" }',
  });
  const { path, name = `keepBest ${read.monitor}` } = read;
  const followed = new BestSoFar("keepBest", read);
  // Part of the state: a checkpoint may be saved by another callback before this one has saved.
  let isDue = false;
  let training: FitTraining | undefined;
  const saveIfDue = async (): Promise<void> => {
    if (!isDue) return;
    // Before saving: in the saved state nothing is due.
    isDue = false;
    await (training as FitTraining).save(path).catch((error: unknown) => {
      isDue = true;
      throw error;
    });
  };
  const hooks = followed.hooks((isBest) => {
    isDue ||= isBest;
  });
  const callback: AnyCallback = {
    ...hooks,
    onStart: async (start) => {
      training = start.training;
      prepareFile(path);
      await hooks.onStart?.(start);
      await saveIfDue();
    },
    afterCallbacks: saveIfDue,
    state: {
      name,
      save: () => ({ ...followed.save(), isDue }),
      load: (saved) => {
        const state = saved as unknown as BestState & { readonly isDue: boolean };
        followed.load(state);
        isDue = state.isDue;
      },
    },
  };
  return withReading(callback, "best", () => followed.best);
}
