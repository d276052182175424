// Fills the leaves of a model from a file, and reports the outcome for each.
import { type HostTensor, isHostTensor, leavesOf, mapTree, type Shape, type Tree, tensor } from "@mp/core";
import { encodeArray, formatShape } from "@mp/core/graph";
import { LAYOUTS, type LayoutRule, type Leaves } from "./layouts-table.js";
import type { FileTensors } from "./open-weights.js";
import type { WeightMismatch, WeightsReport } from "./report.js";
import { decodeSource, dtypeProblem, type FloatArray, type Source } from "./source.js";

/** Buffers of PyTorch's modules that the layers here do not have. */
const BUFFERS: ReadonlySet<string> = new Set(["num_batches_tracked", "position_ids"]);

/** Converts numbers, already in the shape of a leaf, to the tensor or tensors that the tree stores for it. */
export type Store = (leaf: HostTensor, numbers: FloatArray, path: string) => Tree<HostTensor>;

/** The arguments of `fillTrees` besides the trees. */
export interface Filling {
  /** Names of the file's tensors, by path in the model. */
  readonly nameAt: ReadonlyMap<string, string>;
  readonly file: FileTensors;
  /** Whether the file stores this matrix as [inputs, outputs]; default false for all. */
  isInputsFirst?(name: string): boolean;
  /** How numbers are stored; default `storeFloats`. */
  readonly store?: Store;
}

/** Copies named trees with the file's values in their leaves; leaves that the file lacks keep their values. */
export function fillTrees<T extends object>(
  trees: T,
  filling: Filling,
): { readonly loaded: T; readonly report: WeightsReport } {
  const used = new Set<string>();
  const matched: WeightsReport["matched"][number][] = [];
  const mismatched: WeightMismatch[] = [];
  const missing: string[] = [];
  const fill = (leaf: HostTensor, path: string, found: Candidate | undefined): Tree<HostTensor> => {
    if (found === undefined) {
      missing.push(path);
      return leaf;
    }
    const { from } = found;
    for (const name of from) used.add(name);
    const made = convert(leaf, path, found, filling);
    if (typeof made === "string") {
      mismatched.push({ path, from, reason: made });
      return leaf;
    }
    matched.push({ path, from });
    return made;
  };
  const loaded = Object.entries(trees).map(([what, tree]: [string, object]) => {
    const below = leavesBelow(leavesOf(tree, isHostTensor, what));
    const take = (leaf: HostTensor, at: string): Tree<HostTensor> =>
      fill(leaf, `${what}/${at}`, candidate(at, below, filling.nameAt));
    return [what, mapTree(tree, isHostTensor, take, what)];
  });
  const left = [...filling.nameAt.values()].filter((name) => !used.has(name));
  const isBuffer = (name: string): boolean => BUFFERS.has(name.split(/[./]/).at(-1) ?? "");
  const unexpected = left.filter((name) => !isBuffer(name));
  const report = { matched, mismatched, missing, unexpected, ignored: left.filter(isBuffer) };
  return { loaded: Object.fromEntries(loaded) as T, report };
}

/** Converts the file's tensors to the content of a leaf, or returns the reason why that is impossible. */
function convert(
  leaf: HostTensor,
  path: string,
  { from, make }: Candidate,
  { file, isInputsFirst = () => false, store = storeFloats }: Filling,
): Tree<HostTensor> | string {
  const read = from.flatMap((name) => {
    const found = file.get(name);
    return found === undefined ? [] : [{ name, found }];
  });
  const wrong = read.flatMap(({ found }) => dtypeProblem(found) ?? [])[0];
  if (wrong !== undefined) return wrong;
  const sources = read.map(({ name, found }) => decodeSource(name, found, isInputsFirst(name)));
  const [first, second = first] = sources as [Source, Source?];
  const numbers = make(first, second);
  if (numbers === undefined) return `the file's ${sources.map(describe).join(" and ")} have different shapes`;
  return misfit(leaf, numbers, sources) ?? store(leaf, numbers, path);
}

interface Candidate {
  readonly from: readonly string[];
  readonly make: LayoutRule["make"];
}

/** The shapes of the leaves below each node of a tree, by the node's path with a final slash. */
function leavesBelow(leaves: readonly (readonly [string, HostTensor])[]): ReadonlyMap<string, Leaves> {
  const below = new Map<string, Map<string, Shape>>();
  for (const [at, { shape }] of leaves) {
    const keys = at.split("/");
    for (const depth of keys.keys()) {
      const prefix = joinKeys(keys.slice(0, depth));
      if (!below.has(prefix)) below.set(prefix, new Map());
      below.get(prefix)?.set(at.slice(prefix.length), shape);
    }
  }
  return below;
}

const joinKeys = (keys: readonly string[]): string => keys.map((key) => `${key}/`).join("");

/** Finds the first rule whose tensors are all in the file, for the layer or else for the layer around it. */
function candidate(
  path: string,
  below: ReadonlyMap<string, Leaves>,
  nameAt: ReadonlyMap<string, string>,
): Candidate | undefined {
  const keys = path.split("/");
  for (let depth = keys.length - 1; depth >= Math.max(0, keys.length - 2); depth--) {
    const prefix = joinKeys(keys.slice(0, depth));
    for (const { isOne, leaves } of Object.values(LAYOUTS)) {
      if (!isOne(below.get(prefix) ?? new Map())) continue;
      for (const { from, make } of leaves[keys.slice(depth).join("/")] ?? []) {
        const names = from.flatMap((name) => nameAt.get(`${prefix}${name}`) ?? []);
        if (names.length === from.length) return { from: names, make };
      }
    }
  }
  // A tensor with the leaf's own name also has the leaf's layout: this SDK writes such files.
  const own = nameAt.get(path);
  return own === undefined ? undefined : { from: [own], make: (source) => source };
}

/** Stores numbers in the leaf's dtype. Numbers that are bf16 in the file keep their bits in a bf16 leaf. */
export const storeFloats: Store = ({ dtype }, { data, shape }) =>
  dtype === "bf16" ? tensor(encodeArray(dtype, data), shape, dtype) : tensor(data, shape);

const describe = ({ name, shape }: Source): string => `${JSON.stringify(name)} ${formatShape(shape)}`;

function misfit(leaf: HostTensor, made: FloatArray, sources: readonly Source[]): string | undefined {
  if (leaf.dtype !== "f32" && leaf.dtype !== "bf16")
    return `it is ${leaf.dtype} in the model, weights are f32 or bf16`;
  if (leaf.shape.join() !== made.shape.join()) {
    const [{ shape = [], inputsFirst = false } = {}] = sources;
    const given = `it is ${formatShape(leaf.shape)}, the file's ${sources.map(({ name }) => JSON.stringify(name)).join(" and ")} ${formatShape(shape)}`;
    const fitsOtherwise =
      sources.length === 1 && made.shape.length === 2 && leaf.shape.toReversed().join() === made.shape.join();
    return fitsOtherwise
      ? `${given}, which is ${inputsFirst ? "not [inputs, outputs]" : "[inputs, outputs] already: pass inputsFirst"}`
      : given;
  }
  const at = made.data.findIndex((value) => !Number.isFinite(value));
  return at < 0 ? undefined : `element ${at} is ${made.data[at]} in f32`;
}
