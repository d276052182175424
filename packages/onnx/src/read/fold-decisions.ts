// What a reader evaluates depends on how many elements that makes, and so on the sizes that it reads a file at. Where
// readings at several sizes have to give one model, the first that meets a node decides for all of them.
import type { OnnxModel } from "../model.js";

/** Whether a node of a file is evaluated, by the name of its first output. */
export type Folds = Map<string, boolean>;

/** The decisions of several readings, for each file that they read. */
export class FoldDecisions {
  readonly #byModel = new Map<OnnxModel, Folds>();

  of(model: OnnxModel): Folds {
    const folds = this.#byModel.get(model) ?? new Map<string, boolean>();
    this.#byModel.set(model, folds);
    return folds;
  }
}

let current: FoldDecisions | undefined;

/** Runs a function in which all readings of files, however deep in a user's model, follow these decisions. */
export function decidingBy<R>(decisions: FoldDecisions, run: () => R): R {
  const before = current;
  current = decisions;
  try {
    return run();
  } finally {
    current = before;
  }
}

/** The decisions to follow for that file, if any. */
export const foldsToFollow = (model: OnnxModel): Folds | undefined => current?.of(model);
