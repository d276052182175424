import type { TrainingWarning } from "../definition/warning.js";
import type { CallbackState, FitCallback } from "./callback.js";
import { checkJson, type Json } from "./json.js";

/** States by the names of their callbacks. */
export type SavedStates = Readonly<Record<string, Json>>;

/**
 * The states of a run's callbacks: during a `fit`, as the callbacks hold them; otherwise, as a checkpoint or the last
 * `fit` left them.
 */
export class CallbackStates {
  #kept: SavedStates = {};
  #live: readonly CallbackState[] = [];
  #isOfCheckpoint = false;

  /**
   * Loads the run's states into the callbacks of a `fit`. The first `fit` after a checkpoint warns of states without
   * a callback and of callbacks without a state.
   * @throws what the callbacks' `load` throws
   */
  begin(callbacks: readonly Pick<FitCallback, "state">[], warn: (warning: TrainingWarning) => void): void {
    // A failed `fit` did not call `end`: the run keeps the states that its callbacks have now.
    this.end();
    this.#live = callbacks.flatMap(({ state }) => state ?? []);
    if (this.#isOfCheckpoint) for (const warning of warnUnmatched(this.#kept, this.#live)) warn(warning);
    this.#isOfCheckpoint = false;
    for (const state of this.#live) {
      const kept = Object.hasOwn(this.#kept, state.name) ? this.#kept[state.name] : undefined;
      if (kept !== undefined) state.load(kept);
    }
  }

  /** The callbacks' current states. @throws MP_INVALID_ARGUMENT for a state that is not JSON */
  now(): SavedStates {
    const live = this.#live.map((state) => {
      const saved = state.save();
      checkJson(saved, `the state of the callback ${state.name}`);
      return [state.name, saved] as const;
    });
    return { ...this.#kept, ...Object.fromEntries(live) };
  }

  /** Ends a `fit`. The run keeps the states, so the callbacks may be used elsewhere. @throws as `now` */
  end(): void {
    const now = this.now();
    this.#kept = now;
    this.#live = [];
  }

  /** Replaces the states by those of a checkpoint after so many iterations; before the first, nothing can be missing. */
  replace(saved: SavedStates, iteration: number): void {
    this.#kept = saved;
    this.#isOfCheckpoint = iteration > 0;
  }
}

function warnUnmatched(saved: SavedStates, live: readonly CallbackState[]): readonly TrainingWarning[] {
  const names = live.map(({ name }) => name);
  const warning = (callbacks: readonly string[], what: string, remedy: string): readonly TrainingWarning[] =>
    callbacks.map((callback) => ({
      type: "checkpoint",
      message: `fit: the checkpoint has ${what} "${callback}"${remedy}`,
      details: { callback },
    }));
  return [
    ...warning(
      Object.keys(saved).filter((name) => !names.includes(name)),
      "a state of",
      " and no such callback is given: pass it to continue from that; until then the state is kept",
    ),
    ...warning(
      names.filter((name) => !Object.hasOwn(saved, name)),
      "no state of",
      ", which starts new: if it was saved under another name, give it that",
    ),
  ];
}

/** The states as an entry of a checkpoint's metadata; no entry if no callback has a state. */
export function statesEntry(states: SavedStates): { readonly callbacks?: string } {
  return Object.keys(states).length === 0 ? {} : { callbacks: JSON.stringify(states) };
}
