// What a reader evaluates depends on how many elements that makes, and so on the sizes that it reads a file at. Where
// readings at several sizes have to give one model, the first that meets a node decides for all of them.
import type { OnnxModel } from "../model.js";

/** Whether the reader evaluates a node, by the name of the node's first output. */
export type Folds = Map<string, boolean>;

/** Decisions that several readings share, for each file that they read. */
export type FoldDecisions = Map<OnnxModel, Folds>;

let current: FoldDecisions | undefined;

/** Runs a function. All readings of files during the run follow these decisions, also deep in a user's model. */
export function decidingBy<R>(decisions: FoldDecisions, run: () => R): R {
  const before = current;
  current = decisions;
  try {
    return run();
  } finally {
    current = before;
  }
}

/** The current decisions for a file, if there are any. */
export function foldsToFollow(model: OnnxModel): Folds | undefined {
  if (current !== undefined && !current.has(model)) current.set(model, new Map());
  return current?.get(model);
}
