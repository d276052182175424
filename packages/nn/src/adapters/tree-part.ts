/** Parts of a tree of weights, by path. */

type Branch = Readonly<Record<string, unknown>>;

/** Copies a tree and replaces the part at a path. Missing branches are created; other parts are shared. */
export function withPart(
  tree: unknown,
  [name, ...below]: readonly string[],
  make: (part: unknown) => unknown,
): unknown {
  if (name === undefined) return make(tree);
  const child = withPart((tree as Branch | undefined)?.[name], below, make);
  return Array.isArray(tree) ? tree.with(Number(name), child) : { ...(tree as Branch), [name]: child };
}

/** Copies a tree with another leaf at a path; undefined changes nothing. */
export const put = <T>(tree: T, path: string, leaf: unknown): T =>
  leaf === undefined ? tree : (withPart(tree, path.split("/"), () => leaf) as T);

/** The part of a tree at a path; undefined if there is none. */
export const partAt = (tree: unknown, path: string): unknown =>
  path.split("/").reduce<unknown>((part, name) => (part as Branch | undefined)?.[name], tree);
