import { foldIn, mapTensors, type TensorTree } from "@mp/graph";
import { cast } from "@mp/graph/ops";
import type { StepDefinition } from "../definition/definition.js";
import { ownKey } from "../definition/objective-state.js";
import type { ShardedMasters } from "../weights/shard.js";

/** The weights that this process updates, f32. */
export function selectMasters({ shard, precision }: StepDefinition, master: TensorTree): TensorTree {
  if (shard !== undefined) return shard.masters(master as ShardedMasters);
  return mapTensors((weight) => cast(weight, "f32"), precision.masterWeights.parameters(master));
}

/** Master weights after an update. */
export interface Moved {
  /** State of the master weights. */
  readonly master: TensorTree;
  /** The weights that this process updates, in their storage dtype. */
  readonly weights: TensorTree;
}

export function moveMasters(definition: StepDefinition, master: TensorTree, updates: TensorTree): Moved {
  const { shard, precision } = definition;
  if (shard !== undefined) {
    const { state, masters } = shard.apply(master as ShardedMasters, updates);
    return { master: state, weights: masters };
  }
  const { masterWeights } = precision;
  const next = masterWeights.apply(master, updates, foldIn(ownKey(definition), "master"));
  return { master: next, weights: masterWeights.parameters(next) };
}
