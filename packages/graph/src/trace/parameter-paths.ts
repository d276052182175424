/** Finds the path, in a run's parameters, of a subtree that a user's function passes to a layer. */
import { isTensor } from "./tensor.js";
import { currentBuilder, scope, withLabel } from "./trace.js";

const paths = new WeakMap<object, string>();

/** Records the path of every subtree of the parameters that a user's function is about to get. */
export function notePaths(tree: unknown, path = ""): void {
  if (typeof tree !== "object" || tree === null || isTensor(tree)) return;
  paths.set(tree, path);
  for (const [key, part] of Object.entries(tree)) notePaths(part, path === "" ? key : `${path}/${key}`);
}

/**
 * Runs `body`, a part of a layer, in the scope `name`, which reports show as `label`. The path of the layer's
 * parameters precedes the name, as in PyTorch's module names, so that two layers of one type differ in name. The path
 * is left out if the caller has opened a scope, or if `parameters` is the whole parameter tree of the run.
 */
export function labeledPart<T>(parameters: object, name: string, label: string, body: () => T): T {
  const path = paths.get(parameters) ?? "";
  const part = (): T => withLabel(name, label, body);
  return path === "" || currentBuilder("scope").origin.scope !== "" ? part() : scope(path, part);
}
