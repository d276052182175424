// Whether a reader evaluates a node depends on its number of elements, and so on the sizes at which it reads a file. If
// readings at several sizes have to give one model, the first reading of a node decides for all.
import type { OnnxModel } from "../model.js";

/** Whether the reader evaluates a node, by the name of the node's first output. */
export type Folds = Map<string, boolean>;

/** The decisions for each file that several readings share. */
export type FoldDecisions = Map<OnnxModel, Folds>;

let current: FoldDecisions | undefined;

/** Makes all readings of files during `run` follow these decisions, even readings inside a user's model. */
export function decidingBy<R>(decisions: FoldDecisions, run: () => R): R {
  const before = current;
  current = decisions;
  try {
    return run();
  } finally {
    current = before;
  }
}

/** The decisions to follow for a file; undefined outside of `decidingBy`. */
export function foldsToFollow(model: OnnxModel): Folds | undefined {
  if (current !== undefined && !current.has(model)) current.set(model, new Map());
  return current?.get(model);
}
