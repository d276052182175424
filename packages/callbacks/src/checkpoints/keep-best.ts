import type { FitTraining } from "@mp/core/fit";
import { checks, readOptions } from "@mp/core/internal";
import type { AnyCallback } from "../any-callback.js";
import { prepareFile } from "../log/log-file.js";
import { type Best, MONITOR, type MonitorOptions } from "../monitor/best.js";
import { BestSoFar, type BestState } from "../monitor/best-so-far.js";
import { withReading } from "../with-reading.js";

/** Options of `keepBest`. */
export interface KeepBestOptions extends MonitorOptions {
  /** The checkpoint that the best state is saved to, replacing a worse one. */
  readonly path: string;
}

/** The callback that `keepBest` makes. */
export interface KeepBest extends AnyCallback {
  /** The value and step of the checkpoint in the file; undefined before the first value. */
  readonly best: Best | undefined;
}

const OPTIONS = { ...MONITOR, path: checks.path };

/**
 * Saves a checkpoint each time a number is better than ever before: a whole one, from which training can go on, and
 * which `loadParameters` reads. The file is replaced at once, so it is readable at any moment. In a resumed run the best
 * so far is that of the checkpoint.
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
    // Before it saves: the file itself has nothing due.
    isDue = false;
    await (training as FitTraining).save(path).catch((error: unknown) => {
      isDue = true;
      throw error;
    });
  };
  const following = followed.following((isBest) => {
    isDue ||= isBest;
  });
  const callback: AnyCallback = {
    ...following,
    onStart: async (start) => {
      training = start.training;
      prepareFile(path);
      await following.onStart?.(start);
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
