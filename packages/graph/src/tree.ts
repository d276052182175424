import { invalid } from "./errors.js";
import { isPlainObject } from "./plain-object.js";
import { shown } from "./shown.js";

/**
 * A pytree: leaves in arrays and plain objects. Keys are in code-unit order, in whatever order they were written.
 * Class instances and Maps are rejected, so that the printed form of a tree shows all of it.
 */
export type Tree<L> = L | readonly Tree<L>[] | { readonly [key: string]: Tree<L> };

/** The same tree with each leaf of type `From` replaced by `To`. */
export type MapLeaves<T, From, To> = T extends From
  ? To
  : T extends AnyTuple
    ? { readonly [K in keyof T]: MapLeaves<T[K], From, To> }
    : // Lists are not mapped like tuples: for elements that are trees of any structure, TypeScript would recurse
      // without end.
      T extends readonly (infer E)[]
      ? readonly MapLeaves<E, From, To>[]
      : T extends object
        ? { readonly [K in keyof T]: MapLeaves<T[K], From, To> }
        : T;

type AnyTuple = readonly [] | readonly [unknown, ...unknown[]] | readonly [...unknown[], unknown];

/** The greatest depth of a tree; a deeper tree is probably a mistake. */
export const DEEPEST_TREE = 64;

export type LeafTest<L> = (value: unknown) => value is L;

/**
 * The leaves in order with their paths (keys joined by `/`), which name graph inputs and checkpoint tensors.
 * @throws MP_INVALID_ARGUMENT for anything that is not a leaf, array or plain object, naming its path
 */
export function leavesOf<L>(
  tree: unknown,
  isLeaf: LeafTest<L>,
  what: string,
): readonly (readonly [path: string, leaf: L])[] {
  const leaves: (readonly [string, L])[] = [];
  walk(tree, "", leaves, isLeaf, what, new Set());
  return leaves;
}

function walk<L>(
  tree: unknown,
  path: string,
  into: (readonly [string, L])[],
  isLeaf: LeafTest<L>,
  what: string,
  above: Set<object>,
): void {
  if (isLeaf(tree)) {
    into.push([path, tree]);
    return;
  }
  for (const [key, child] of listChildren(tree, path, what, above)) {
    above.add(tree as object);
    walk(child, path === "" ? key : `${path}/${key}`, into, isLeaf, what, above);
    above.delete(tree as object);
  }
}

function listChildren(
  tree: unknown,
  path: string,
  what: string,
  above: ReadonlySet<object>,
): readonly (readonly [string, unknown])[] {
  const where = path === "" ? what : `${what} at ${path}`;
  if (typeof tree === "object" && tree !== null && above.has(tree)) {
    throw invalid(`${where}: the tree contains itself`);
  }
  if (above.size > DEEPEST_TREE) {
    throw invalid(`${where}: the tree is nested deeper than ${DEEPEST_TREE} levels`);
  }
  // tree.map would leave holes out.
  if (Array.isArray(tree))
    return Array.from(tree, (child: unknown, index) => [String(index), child] as const);
  if (isPlainObject(tree)) {
    return Object.keys(tree)
      .sort()
      .map((key) => {
        const problem = keyProblem(key);
        if (problem !== undefined) throw invalid(`${where}: the key ${JSON.stringify(key)} ${problem}`);
        return [key, tree[key]] as const;
      });
  }
  throw invalid(`${where}: a tree holds tensors, arrays and plain objects, got ${shown(tree)}`);
}

/** Finds why a key cannot be part of a name: two leaves would share it, or a file or engine could not hold it. */
export function keyProblem(key: string): string | undefined {
  if (key === "") return "is empty";
  if (key.includes("/")) return "contains a slash";
  if (key.includes("\0")) return "contains a zero character";
  if (/\p{Surrogate}/u.test(key)) return "is not well-formed Unicode";
  return undefined;
}

/** Replaces every leaf by `map(leaf, path)`. @throws as `leavesOf` */
export function mapTree<T, L, M>(
  tree: T,
  isLeaf: LeafTest<L>,
  map: (leaf: L, path: string) => M,
  what = "tree",
): MapLeaves<T, L, M> {
  const visit = (node: unknown, path: string, above: ReadonlySet<object>): unknown => {
    if (isLeaf(node)) return map(node, path);
    const children = listChildren(node, path, what, above);
    const inside = new Set(above).add(node as object);
    const mapped = children.map(
      ([key, child]) => [key, visit(child, path === "" ? key : `${path}/${key}`, inside)] as const,
    );
    return Array.isArray(node) ? mapped.map(([, child]) => child) : Object.fromEntries(mapped);
  };
  return visit(tree, "", new Set()) as MapLeaves<T, L, M>;
}

/** Builds a tree of the structure of `like` from leaves in the order of `leavesOf`. */
export function rebuildTree<T, L, M>(like: T, isLeaf: LeafTest<L>, leaves: readonly M[]): MapLeaves<T, L, M> {
  let next = 0;
  const tree = mapTree(like, isLeaf, () => {
    const leaf = leaves[next++];
    if (leaf === undefined) throw new Error("internal: too few leaves for the tree");
    return leaf;
  });
  if (next !== leaves.length) throw new Error("internal: too many leaves for the tree");
  return tree;
}

/** Whether a path (names joined by `/`) is `of` or lies below it; "" is above all. */
export function isWithin(path: string, of: string): boolean {
  return of === "" || path === of || path.startsWith(`${of}/`);
}
