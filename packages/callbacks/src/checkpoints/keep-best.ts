import type { FitTraining } from "@mp/core/fit";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import type { AnyCallback } from "../any-callback.js";
import { prepareFile } from "../log/log-file.js";
import { BestSoFar, type BestState } from "../monitor/best-so-far.js";
import { type Best, MONITOR, type MonitorOptions } from "../monitor/is-better.js";
import { withReading } from "../with-reading.js";

/** Options of `keepBest`: the number to follow, and the file. */
export interface KeepBestOptions extends MonitorOptions {
  /** File of the best checkpoint so far. */
  readonly path: string;
  /**
   * Whether the run ends with the best weights, like Keras's `restore_best_weights`: the weights, their average and the
   * model state are read from the file at the end of `fit`, unless it fails or is aborted. Default false.
   */
  readonly restore?: boolean;
}

/** The callback that `keepBest` makes, with the best value so far. */
export interface KeepBest extends AnyCallback {
  /** The value and step of the checkpoint in the file; undefined before the first value. */
  readonly best: Best | undefined;
}

const OPTIONS = { ...MONITOR, path: checks.path, restore: withDefault(false, checks.truth) };

/**
 * Saves a checkpoint each time the monitored number is better than before. Training can be resumed from it, and
 * `loadParameters` reads it. The file is replaced atomically, so it is readable at any moment. A resumed run continues
 * with the best value of its checkpoint.
 * @throws MP_INVALID_ARGUMENT for invalid options; `fit` rejects with MP_INVALID_ARGUMENT for an unknown monitor,
 * naming the known ones, and with MP_IO for a file that cannot be written
 */
export function keepBest(options: KeepBestOptions): KeepBest {
  const read = readOptions<KeepBestOptions, typeof OPTIONS>("keepBest", options, OPTIONS, {
    example: '{ path: "best.safetensors" }',
  });
  const { path, restore, name = `keepBest ${read.monitor}` } = read;
  const followed = new BestSoFar("keepBest", read);
  // Stored in checkpoints, because another callback may save a checkpoint before this callback has saved its own.
  let isDue = false;
  let training: FitTraining | undefined;
  const saveIfDue = async (): Promise<void> => {
    if (!isDue) return;
    // Reset before saving, because the checkpoint that is written must not say that a save is due.
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
    onEnd: async ({ ended, steps }) => {
      const isLast = followed.best === undefined || followed.best.step === steps;
      if (restore && !isLast && ended !== "failed" && ended !== "aborted")
        await (training as FitTraining).loadWeights(path);
    },
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
