/** Notes on trees of parameters: facts about their use that shapes do not show, such as the scale of adapters. */
import { isHostTensor } from "./host-tensor.js";

const notes = new WeakMap<object, string>();

/**
 * Attaches a note to a tree. Checkpoints of a run that is given the tree, alone or within a larger tree, keep the note;
 * a resumed run whose note differs warns.
 */
export function withNote<T extends object>(tree: T, note: string): T {
  notes.set(tree, note);
  return tree;
}

/** The notes on a tree and on the trees within it, by path. */
export function notesIn(tree: unknown, path = ""): readonly (readonly [path: string, note: string])[] {
  if (typeof tree !== "object" || tree === null || isHostTensor(tree)) return [];
  const note = notes.get(tree);
  if (note !== undefined) return [[path, note]];
  return Object.entries(tree).flatMap(([name, part]) =>
    notesIn(part, path === "" ? name : `${path}/${name}`),
  );
}
