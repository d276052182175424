import type { Tree } from "@mp/graph";
import { quote } from "../problem.js";
import { invalid } from "./invalid.js";

/** Splits a name into keys of a tree: `layer1.0.conv1.weight` and `/layer1/0/conv1/weight` give the same keys. */
export function splitName(name: string): readonly string[] {
  return name.split(/[./]/).filter((key) => key !== "");
}

/**
 * Nests leaves by the keys of their paths.
 * @throws MP_INVALID_ARGUMENT if a path is taken, or a leaf would have to be a branch
 */
export function nest<L>(leaves: Iterable<readonly [path: string, leaf: L]>): Tree<L> {
  const tree = new Map<string, unknown>();
  for (const [path, leaf] of leaves) {
    const keys = path.split("/");
    let at = tree;
    for (const key of keys.slice(0, -1)) {
      const child = at.get(key) ?? new Map<string, unknown>();
      if (!(child instanceof Map)) clash(path);
      at.set(key, child);
      at = child as Map<string, unknown>;
    }
    const last = keys.at(-1) ?? "";
    if (last === "" || at.has(last)) clash(path);
    at.set(last, leaf);
  }
  return plain(tree) as Tree<L>;
}

const plain = (tree: unknown): unknown =>
  tree instanceof Map ? Object.fromEntries([...tree].map(([key, child]) => [key, plain(child)])) : tree;

function clash(path: string): never {
  invalid(
    `two parameters are named ${quote(path)}, or one is named as a part of another; pass rename: (name) => …`,
    { path },
  );
}

/** The leaf at a path; undefined if there is none. */
export function leafAt(tree: unknown, path: string): unknown {
  let at = tree;
  for (const key of path.split("/")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[key];
  }
  return at;
}
