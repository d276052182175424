/** Where in a run's parameters a tree lies that a user's function hands on to a layer. */
import { isTensor } from "./tensor.js";
import { currentBuilder, scope } from "./trace.js";

const paths = new WeakMap<object, string>();

/** Notes the path of every tree inside a tree of parameters that a user's function is about to get. */
export function notePaths(tree: unknown, path = ""): void {
  if (typeof tree !== "object" || tree === null || isTensor(tree)) return;
  paths.set(tree, path);
  for (const [key, part] of Object.entries(tree)) notePaths(part, path === "" ? key : `${path}/${key}`);
}

/**
 * A scope named by the place of these parameters, as modules are in PyTorch: two layers of one kind have different
 * names. None if the caller has opened a scope, or if they are all parameters of the run.
 */
export function scopeOfParameters<T>(parameters: object, body: () => T): T {
  const path = paths.get(parameters) ?? "";
  return path === "" || currentBuilder("scope").origin.scope !== "" ? body() : scope(path, body);
}
