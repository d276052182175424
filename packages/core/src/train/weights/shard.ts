import {
  type ComputeDType,
  elementCount,
  isTensor,
  leavesOf,
  mapTensors,
  mapTree,
  type Tensor,
  type TensorTree,
} from "@mp/graph";
import { add, cast, concat, reshape, slice } from "@mp/graph/ops";
import type { MasterWeights } from "../../precision/master-weights.js";
import type { Part } from "./partition.js";

/** The weights that a rank keeps. */
export type ShardedMasters = {
  /** Copies of all weights as the loss reads them. A copy in f32 is also the master; `own` has the other masters. */
  readonly copy: TensorTree;
  /** f32 masters of this rank's part of the weights whose copy is in a half dtype. */
  readonly own: TensorTree;
};

/** The part of the update that one rank makes. */
export interface Shard {
  /**
   * Whether the finite check may fail on one rank only, because new parameters are checked or an optimizer divides by
   * norms of its leaves. The ranks then agree on one verdict before any of them applies its part.
   */
  readonly isJudged: boolean;
  /** This rank's parts of a tree of whole leaves. A part that is not a whole leaf is flat. */
  own(whole: TensorTree): TensorTree;
  /** f32 masters of this rank's parts. */
  masters(state: ShardedMasters): TensorTree;
  /** Adds updates to this rank's parts, masters and copies; returns the state and the new masters. */
  apply(
    state: ShardedMasters,
    updates: TensorTree,
  ): { readonly state: ShardedMasters; readonly masters: TensorTree };
}

export interface ShardOptions {
  readonly parts: ReadonlyMap<string, Part>;
  /** The dtype of a parameter's copy. */
  readonly storage: (path: string) => ComputeDType;
  readonly isJudged: boolean;
}

/** Builds the shard of one rank, and the master weights that replace the precision's f32 master weights. */
export function buildShard({ parts, storage, isJudged }: ShardOptions): {
  readonly shard: Shard;
  readonly masterWeights: MasterWeights<ShardedMasters>;
} {
  const own = (whole: TensorTree): TensorTree =>
    mapTree(whole, isTensor, (leaf, path): TensorTree => {
      const part = parts.get(path);
      return part === undefined ? {} : cut(leaf, part);
    }) as TensorTree;
  const isHalf = (path: string): boolean => storage(path) !== "f32";
  const splitHalves = (tree: TensorTree): TensorTree =>
    mapTree(tree, isTensor, (leaf, path): TensorTree => (isHalf(path) ? leaf : {})) as TensorTree;
  const shard: Shard = {
    isJudged,
    own,
    masters: ({ copy, own: halves }) => {
      const known = new Map(leavesOf(halves, isTensor, "own"));
      return mapTree(own(copy), isTensor, (leaf, path) => known.get(path) ?? leaf) as TensorTree;
    },
    apply: (state, updates) => {
      const masters = mapTensors(add, shard.masters(state), updates);
      const updated = new Map(leavesOf(masters, isTensor, "masters"));
      const copy = mapTree(state.copy, isTensor, (leaf, path): Tensor => {
        const master = updated.get(path);
        return master === undefined
          ? leaf
          : replaceRange(leaf, parts.get(path) as Part, cast(master, storage(path)));
      }) as TensorTree;
      return { state: { copy, own: splitHalves(masters) }, masters };
    },
  };
  const masterWeights: MasterWeights<ShardedMasters> = {
    name: "f32",
    weightsAt: "copy",
    init: (parameters) => ({
      copy: mapTree(parameters, isTensor, (leaf, path): Tensor => cast(leaf, storage(path))) as TensorTree,
      own: splitHalves(own(parameters)),
    }),
    // Parameters are f32, so gradients are summed in f32; operators in the half dtype read the copy itself.
    parameters: ({ copy }) => mapTensors((leaf) => cast(leaf, "f32"), copy),
    apply: (state, updates) => shard.apply(state, updates).state,
  };
  return { shard, masterWeights };
}

function cut(leaf: Tensor, { from, to }: Part): Tensor {
  const elements = elementCount(leaf.shape, "shard");
  if (from === 0 && to === elements) return leaf;
  return slice(reshape(leaf, [elements]), [{ axis: 0, start: from, end: to }]);
}

/** Replaces a part of a leaf. */
function replaceRange(leaf: Tensor, { from, to }: Part, part: Tensor): Tensor {
  const elements = elementCount(leaf.shape, "shard");
  if (from === 0 && to === elements) return part;
  const flat = reshape(leaf, [elements]);
  const [before, after] = [
    { axis: 0, end: from },
    { axis: 0, start: to },
  ].map((range) => slice(flat, [range])) as [Tensor, Tensor];
  const pieces = [...(from > 0 ? [before] : []), part, ...(to < elements ? [after] : [])];
  return reshape(concat(pieces), leaf.shape);
}
