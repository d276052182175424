import type { BackendManifest, Key, Tensor, TensorTree } from "@mp/graph";
import type { Optimizer } from "../../optim/optimizer.js";
import type { Precision } from "../../precision/presets.js";
import type { Ema } from "../weights/average.js";
import type { Shard } from "../weights/shard.js";
import type { LossContext, LossParts } from "./loss.js";
import type { RankPlace } from "./rank-place.js";

/** A loss without static types of its trees, from which the programs are built. */
export type AnyLoss = (
  parameters: TensorTree,
  batch: TensorTree,
  context: LossContext<TensorTree>,
) => Tensor | LossParts<TensorTree>;

/** Which of a run's objectives a definition is, in their order. */
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
  /** Which of several processes this is: the loss draws its own numbers. Undefined where there is only one. */
  readonly rank: RankPlace | undefined;
  /** The part of the update that this process makes, if it is divided. */
  readonly shard?: Shard;
  /** Paths of parameters that are not trained. */
  readonly frozen: ReadonlySet<string>;
  /** Paths of frozen parameters that were given in a dtype other than f32 and keep it. */
  readonly keptAsGiven: ReadonlySet<string>;
  readonly clipNorm: number | undefined;
  readonly ema: Ema | undefined;
  readonly accumulate: number;
  /** Whether a step's gradients are the mean or the sum of its microbatches'. */
  readonly accumulation: "mean" | "sum";
  readonly onOverflow: "skip" | "retry";
  readonly maxRetries: number;
  readonly checkNewParameters: boolean;
}

/** One of each objective, in the order in which a step runs them. */
export type Definitions = readonly [StepDefinition, ...StepDefinition[]];
