import type { Tree } from "@mp/graph";
import { quote, refuseFile } from "./problem.js";

/** Nests leaves by the parts of their paths. @throws MP_PARSE for equal paths, or one inside another */
export function nest<L>(leaves: Iterable<readonly [path: string, leaf: L]>): Tree<L> {
  const tree = new Map<string, unknown>();
  for (const [path, leaf] of leaves) {
    const keys = path.split("/");
    const last = keys.pop() ?? "";
    let at = tree;
    for (const key of keys) {
      const child = at.get(key) ?? new Map<string, unknown>();
      if (!(child instanceof Map)) return refuseFile(`two weights are named ${quote(path)}`);
      at.set(key, child);
      at = child;
    }
    if (at.has(last)) return refuseFile(`two weights are named ${quote(path)}`);
    at.set(last, leaf);
  }
  return plain(tree) as Tree<L>;
}

const plain = (tree: unknown): unknown =>
  tree instanceof Map ? Object.fromEntries([...tree].map(([key, child]) => [key, plain(child)])) : tree;

/** The leaf at a path, if any. */
export function leafAt(tree: unknown, path: string): unknown {
  let at = tree;
  for (const key of path.split("/")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[key];
  }
  return at;
}
