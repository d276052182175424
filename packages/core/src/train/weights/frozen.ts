import { type HostTensor, isHostTensor, isTensor, leavesOf, type TensorTree } from "@mp/graph";
import { invalid, namesInstead, partOf, shown } from "@mp/graph/internal";
import type { MasterWeights } from "../../precision/master-weights.js";

/** Which parameters are not trained: `true` for a leaf or a whole subtree; all other parameters are trained. */
export type FrozenMask<P> = P extends HostTensor
  ? boolean
  : P extends object
    ? boolean | (IsOpen<P> extends true ? AnyMask : { readonly [K in Names<P>]?: FrozenMask<P[K]> })
    : boolean;

/** The names of a tree; for a tuple its positions, so that `{ 0: true }` is a mask of the parts of a `sequential`. */
type Names<P> = P extends readonly unknown[] ? Extract<keyof P, `${number}`> : keyof P;

/** Whether a type does not name its members: a record, or a list of any length. */
type IsOpen<P> = string extends keyof P
  ? true
  : P extends readonly unknown[]
    ? number extends P["length"]
      ? true
      : false
    : false;

/** A mask over a tree whose names are not known. */
interface AnyMask {
  readonly [name: string]: boolean | AnyMask;
}

/**
 * Paths of the frozen leaves.
 * @throws MP_INVALID_ARGUMENT for a mask that does not match the tree, or that leaves nothing to train
 */
export function frozenPaths(parameters: unknown, mask: unknown): ReadonlySet<string> {
  const frozen = readMask("frozen", parameters, mask);
  if (frozen.size > 0 && frozen.size === leavesOf(parameters, isHostTensor, "params").length) {
    throw invalid("frozen: every parameter is frozen, there is nothing to train");
  }
  return frozen;
}

/** Paths that none of the objectives trains. */
export function frozenInAll([first, ...rest]: readonly Frozen[]): ReadonlySet<string> {
  if (first === undefined || rest.length === 0) return first?.frozen ?? new Set();
  return new Set([...first.frozen].filter((path) => rest.every(({ frozen }) => frozen.has(path))));
}

interface Frozen {
  readonly frozen: ReadonlySet<string>;
}

/**
 * Paths of the leaves where a mask over the parameters is true.
 * @param what the name that messages begin with
 * @throws MP_INVALID_ARGUMENT for a mask that does not match the tree
 */
export function readMask(what: string, parameters: unknown, mask: unknown): ReadonlySet<string> {
  const paths = new Set<string>();
  collect(what, paths, parameters, mask, "");
  return paths;
}

function collect(what: string, into: Set<string>, tree: unknown, mask: unknown, path: string): void {
  const place = path === "" ? what : `${what} at ${path}`;
  const below = (key: string): string => (path === "" ? key : `${path}/${key}`);
  if (mask === undefined || mask === false) return;
  if (mask === true) {
    for (const [leaf] of leavesOf(tree, isHostTensor, "params")) into.add(leaf === "" ? path : below(leaf));
    return;
  }
  if (Array.isArray(mask) && mask.some((part) => typeof part === "string")) {
    throw invalid(`${place}: takes a tree such as { 0: { kernel: true } }, got ${shown(mask)}`);
  }
  if (typeof mask !== "object" || mask === null) {
    throw invalid(`${place}: a mask holds true and false, got ${String(mask)}`);
  }
  for (const [key, part] of Object.entries(mask)) {
    if (typeof tree !== "object" || tree === null || isHostTensor(tree) || !Object.hasOwn(tree, key)) {
      const instead = isHostTensor(tree) ? "" : namesInstead(key, tree);
      throw invalid(`${place}: the parameters have no ${below(key)}${instead}`);
    }
    collect(what, into, (tree as Readonly<Record<string, unknown>>)[key], part, below(key));
  }
}

/** Splits parameters into trained and frozen. Both trees keep the structure, with `{}` for other leaves. */
export function splitFrozen(
  tree: TensorTree,
  frozen: ReadonlySet<string>,
): { readonly trained: TensorTree; readonly frozen: TensorTree } {
  if (frozen.size === 0) return { trained: tree, frozen: {} };
  return {
    trained: partOf(tree, (path) => !frozen.has(path)),
    frozen: partOf(tree, (path) => frozen.has(path)),
  };
}

/** The inverse of `splitFrozen`. */
export function mergeFrozen(trained: TensorTree, frozen: TensorTree): TensorTree {
  if (isTensor(trained)) return trained;
  if (isTensor(frozen)) return frozen;
  if (Array.isArray(trained)) {
    const others = frozen as readonly TensorTree[];
    return trained.map((child: TensorTree, index) => mergeFrozen(child, others[index] ?? {}));
  }
  const others = frozen as { readonly [key: string]: TensorTree };
  return Object.fromEntries(
    Object.entries(trained).map(([key, child]) => [key, mergeFrozen(child, others[key] ?? {})]),
  );
}

/** Stores untrained weights: f32 ones as the master weights store them; others, such as bf16 or codes, as given. */
export function storeUntrained(weights: TensorTree, masters: MasterWeights): TensorTree {
  const others = leavesOf(weights, isTensor, "params").flatMap(([path, { dtype }]) =>
    dtype === "f32" ? [] : path,
  );
  const { trained: inF32, frozen } = splitFrozen(weights, new Set(others));
  return mergeFrozen(masters.parameters(masters.init(inF32)), frozen);
}
