import type { Tree } from "./tree.js";

/**
 * Nests leaves by the keys of their paths.
 * @param clash must throw; called with a path that is taken, passes through a leaf, or has an empty last key
 */
export function nest<L>(
  leaves: Iterable<readonly [path: string, leaf: L]>,
  clash: (path: string) => never,
): Tree<L> {
  const tree = new Map<string, unknown>();
  for (const [path, leaf] of leaves) {
    const keys = path.split("/");
    const last = keys.pop() ?? "";
    let at = tree;
    for (const key of keys) {
      const child = at.get(key) ?? new Map<string, unknown>();
      if (!(child instanceof Map)) return clash(path);
      at.set(key, child);
      at = child;
    }
    if (last === "" || at.has(last)) clash(path);
    at.set(last, leaf);
  }
  return plain(tree) as Tree<L>;
}

const plain = (tree: unknown): unknown =>
  tree instanceof Map ? Object.fromEntries([...tree].map(([key, child]) => [key, plain(child)])) : tree;

/** The leaf or branch at a path; undefined if the tree has no such path. */
export function leafAt(tree: unknown, path: string): unknown {
  let at = tree;
  for (const key of path.split("/")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[key];
  }
  return at;
}
