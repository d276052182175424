import type { BackendManifest, Key, Tensor, TensorTree } from "@mp/graph";
import type { Optimizer } from "../../optim/optimizer.js";
import type { Precision } from "../../precision/presets.js";
import type { Ema } from "../weights/average.js";
import type { Shard } from "../weights/shard.js";
import type { LossContext, LossParts } from "./loss.js";
import type { RankPlace } from "./rank-place.js";

/** A loss without static types of its trees. */
export type AnyLoss = (
  parameters: TensorTree,
  batch: TensorTree,
  context: LossContext<TensorTree>,
) => Tensor | LossParts<TensorTree>;

/** A definition's objective, and the names of all objectives of the run, in order. */
export interface ObjectivePlace {
  readonly name: string;
  readonly all: readonly string[];
}

/** Everything that decides what a training step computes, apart from shapes. */
export interface StepDefinition {
  /** Undefined in a trainer with a single loss. */
  readonly objective?: ObjectivePlace;
  readonly loss: AnyLoss;
  readonly optimizer: Optimizer;
  readonly precision: Precision;
  readonly manifest: BackendManifest;
  readonly key: Key;
  /** The rank of this process, so that its loss draws its own numbers; undefined if there is only one process. */
  readonly rank: RankPlace | undefined;
  /** The part of the update that this process makes, if the trainer's option `shard` shards updates over the ranks. */
  readonly shard?: Shard;
  /** Paths of parameters that are not trained. */
  readonly frozen: ReadonlySet<string>;
  /** Paths of frozen parameters that were given in a dtype other than f32 and keep it. */
  readonly keptAsGiven: ReadonlySet<string>;
  readonly clipNorm: number | undefined;
  readonly ema: Ema | undefined;
  readonly accumulate: number;
  /** Whether a step's gradients are the mean or the sum of its microbatches' gradients. */
  readonly accumulation: "mean" | "sum";
  readonly onOverflow: "skip" | "retry";
  readonly maxRetries: number;
  readonly checkNewParameters: boolean;
  /** How parts of the parameters are used, by path, such as the scale of adapters. */
  readonly notes: readonly (readonly [path: string, note: string])[];
}

/** The definitions of all objectives, in the order in which a step runs them. */
export type Definitions = readonly [StepDefinition, ...StepDefinition[]];
