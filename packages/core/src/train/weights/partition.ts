import { elementCount, type Shape } from "@mp/graph";

export interface Leaf {
  readonly path: string;
  readonly shape: Shape;
}

/** The elements of a leaf from `from` up to, not including, `to`, in row-major order. */
export interface Part {
  readonly from: number;
  readonly to: number;
}

/** Each rank's parts of the leaves, by path. A leaf of which a rank has no element is absent. */
export type Partition = readonly ReadonlyMap<string, Part>[];

export const countElements = ({ shape }: Pick<Leaf, "shape">): number => elementCount(shape, "shard");

/** Shards the leaves over ranks as evenly as the scope of the optimizer permits. */
export function partition(leaves: readonly Leaf[], size: number, scope: "element" | "leaf"): Partition {
  return scope === "element" ? byElement(leaves, size) : byLeaf(leaves, size);
}

/** Lays the leaves end to end and splits them into parts whose sizes differ by at most one element. */
function byElement(leaves: readonly Leaf[], size: number): Partition {
  const total = leaves.reduce((sum, leaf) => sum + countElements(leaf), 0);
  return Array.from({ length: size }, (_, rank) => {
    const [first, last] = [rank, rank + 1].map((cut) => Math.floor((cut * total) / size)) as [number, number];
    const parts = new Map<string, Part>();
    let start = 0;
    for (const leaf of leaves) {
      const end = start + countElements(leaf);
      const [from, to] = [Math.max(first, start), Math.min(last, end)];
      if (from < to) parts.set(leaf.path, { from: from - start, to: to - start });
      start = end;
    }
    return parts;
  });
}

/** Gives out whole leaves, the largest first, each to the rank with the fewest elements so far. */
function byLeaf(leaves: readonly Leaf[], size: number): Partition {
  const ranks = Array.from({ length: size }, () => ({ parts: new Map<string, Part>(), elements: 0 }));
  for (const leaf of leaves.toSorted((a, b) => countElements(b) - countElements(a))) {
    const elements = countElements(leaf);
    const least = ranks.reduce((best, rank) => (rank.elements < best.elements ? rank : best));
    if (elements > 0) least.parts.set(leaf.path, { from: 0, to: elements });
    least.elements += elements;
  }
  return ranks.map(({ parts }) => parts);
}
