/**
 * Shards the update of a data-parallel run over its ranks (ZeRO stage 1, Rajbhandari et al., arXiv 1910.02054). Each
 * rank keeps masters and optimizer state of only its part, updates that part, and gives the other ranks its new
 * weights. Gradients are summed whole, so that norm, clipping and finite check are those of a run without sharding.
 */
import {
  type ComputeDType,
  type HostTensor,
  isHalf,
  isHostTensor,
  leavesOf,
  MpError,
  mapTree,
  type Ranks,
  type State,
} from "@mp/graph";
import type { Definitions } from "../../definition/definition.js";
import { flagIn, type Outputs } from "../../definition/outputs.js";
import { isValueType } from "../../definition/state.js";
import { feedName, type TypeTree } from "../../definition/traced-program.js";
import type { GivenTypes } from "../../objective/initial-state.js";
import { initProgram } from "../../programs/step-programs.js";
import { type Leaf, type Partition, partition } from "../../weights/partition.js";
import { buildShard } from "../../weights/shard.js";
import { copyName, gatherWeights, gatherWeightsInPlace } from "./gather-weights.js";
import { WholeState } from "./whole-state.js";

/** A sharded run as one rank sees it. */
export interface Sharding {
  /** The definitions of this rank's programs. */
  readonly definitions: Definitions;
  /** Whether a slot must have the same values on all ranks at the start. */
  isCommon(slot: string): boolean;
  /** Slots that `gather` changes in place, for `createState`. */
  readonly adjacent: readonly (readonly string[])[];
  /**
   * Returns the state as a run without sharding has it, and a function that reads the whole parameters. Call `whole` on
   * all ranks, and likewise the function that it returns.
   */
  whole(
    state: State,
    given: GivenTypes,
  ): Promise<{ readonly state: State; readonly parameters: () => Promise<unknown> }>;
  /** Gives all ranks the new weights of a step if its outputs say that it was applied. Call it on all ranks. */
  gather(state: State, outputs: Outputs): Promise<void>;
}

/** @throws MP_UNSUPPORTED for an update that cannot be sharded over ranks */
export function sharding(definitions: Definitions, parameters: unknown, ranks: Ranks): Sharding {
  const [definition] = definitions;
  const scope = divisible(definitions);
  const { frozen, checkNewParameters, precision } = definition;
  const leaves = leavesOf(parameters, isHostTensor, "params")
    .filter(([path]) => !frozen.has(path))
    .map(([path, { shape }]): Leaf => ({ path, shape }));
  const { compute } = precision.policy;
  const matrices = new Set(leaves.filter(({ shape }) => shape.length > 1).map(({ path }) => path));
  // Biases and gains of normalizations are small, and f32 in most policies.
  const storage = (path: string): ComputeDType =>
    isHalf(compute as ComputeDType) && matrices.has(path) ? (compute as ComputeDType) : "f32";
  const divided = partition(leaves, ranks.size, scope);
  const parts = divided[ranks.rank] as Partition[number];
  const isJudged = checkNewParameters || scope === "leaf";
  const { shard, masterWeights } = buildShard({ parts, storage, isJudged });
  const isInF32 = leaves.every(({ path }) => storage(path) === "f32");
  const exchange = { ranks, leaves, divided, storage };
  const gather = isInF32 ? gatherWeightsInPlace(exchange) : gatherWeights(exchange);
  return {
    definitions: [{ ...definition, shard, precision: { ...precision, masterWeights } }],
    isCommon: (slot) => {
      const [group, entry] = slot.split("/");
      return group !== "optimizer" && !(group === "master" && entry === "own");
    },
    whole: async (state, { parameters, model }) => {
      const made = initProgram(definitions, parameters, model, true).outputs["state"] ?? {};
      const types = Object.fromEntries(leavesOf(made, isValueType, "state"));
      const whole = await WholeState.of({ ranks, state, types, storage });
      return { state: whole, parameters: () => parametersIn(whole, parameters) };
    },
    adjacent: isInF32 ? [leaves.map(({ path }) => copyName(path))] : [],
    gather: async (state, outputs) => {
      if (flagIn(outputs, "applied")) await gather(state);
    },
  };
}

/** The scope of an update that can be sharded; refuses other updates. */
function divisible(definitions: Definitions): "element" | "leaf" {
  const [{ objective, optimizer, precision, ema }] = definitions;
  const refuse = (problem: string): never => {
    throw new MpError("MP_UNSUPPORTED", `trainer: shard: ${problem}`);
  };
  if (objective !== undefined) refuse("objectives cannot be divided; leave shard out");
  if (ema !== undefined) refuse("an average of the weights (ema) cannot be divided; leave one of them out");
  const { name } = precision.masterWeights;
  if (name !== "f32") refuse(`divides f32 master weights, and ${precision.name} has ${name}; use mixed()`);
  return (
    optimizer.scope ??
    refuse(
      `${optimizer.name} does not say what its update of an element depends on (scope), or that is more than its leaf; clip by clipNorm of the trainer`,
    )
  );
}

async function parametersIn(state: State, types: TypeTree): Promise<unknown> {
  const paths = leavesOf(types, isValueType, "params").map(([path]) => path);
  const slots = paths.map((path) =>
    [feedName("master", path), feedName("frozen", path)].find((slot) => state.types[slot] !== undefined),
  ) as readonly string[];
  const values = await state.read(slots);
  const byPath = new Map(paths.map((path, at) => [path, values[slots[at] as string]]));
  return mapTree(types, isValueType, (_type, path) => byPath.get(path) as HostTensor);
}
