import { invalid } from "../errors.js";
import { type HostTensor, isHostTensor } from "../host/host-tensor.js";
import { leavesOf, mapTree, rebuildTree, type Tree } from "../tree.js";
import { isTensor, type Tensor } from "./tensor.js";

/** A tree of traced tensors, such as parameters, gradients or states. */
export type TensorTree = Tree<Tensor>;

/** The tensors of a tree, in order. */
export function tensorsOf(tree: TensorTree): readonly Tensor[] {
  return leavesOf(tree, isTensor, "tree").map(([, leaf]) => leaf);
}

/** Copies a tree, with `{}` in place of every tensor whose path does not satisfy `isIn`. */
export function partOf(tree: TensorTree, isIn: (path: string) => boolean): TensorTree {
  return mapTree(tree, isTensor, (leaf, path): TensorTree => (isIn(path) ? leaf : {})) as TensorTree;
}

const isAnyTensor = (value: unknown): value is Tensor | HostTensor => isTensor(value) || isHostTensor(value);

function listLeaves(tree: unknown): readonly (readonly [path: string, leaf: Tensor])[] {
  return leavesOf(tree, isAnyTensor, "mapTensors: tree").map(([path, leaf]) => {
    if (isTensor(leaf)) return [path, leaf];
    const where = path === "" ? "the tree" : path;
    throw invalid(`mapTensors: ${where} is a host tensor; takes traced tensors`);
  });
}

/**
 * Applies `map` leaf by leaf to trees of one structure: `mapTensors(add, params, updates)`.
 * @throws MP_INVALID_ARGUMENT when the trees differ in structure, or hold host tensors
 */
export function mapTensors<T extends TensorTree>(
  map: (leaf: Tensor, ...others: readonly Tensor[]) => Tensor,
  tree: T,
  ...others: readonly TensorTree[]
): T {
  const leaves = listLeaves(tree);
  const rest = others.map(listLeaves);
  for (const other of rest) {
    const odd = leaves.findIndex(([path], index) => other[index]?.[0] !== path);
    if (odd >= 0 || other.length !== leaves.length) {
      const path = leaves[odd]?.[0] ?? other[leaves.length]?.[0] ?? "the top";
      throw invalid(`mapTensors: the trees differ in structure at ${path}`);
    }
  }
  const mapped = leaves.map(([, leaf], index) =>
    map(leaf, ...rest.map((other) => other[index]?.[1] as Tensor)),
  );
  return rebuildTree(tree, isTensor, mapped) as T;
}
