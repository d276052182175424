// A layer as it was read: the weights that it has, and what it computes of them.
import type { Shape, Tensor } from "@mp/graph";
import { mul, where } from "@mp/graph/ops";
import type { JsonObject } from "./problem.js";
import type { Settings } from "./settings.js";

/** Arguments of a call of a layer. */
export interface Call {
  readonly inputs: readonly Tensor[];
  readonly training: boolean;
  weight(name: string): Tensor;
  statistic(name: string): Tensor;
  /** The statistic after this step. */
  follow(name: string, next: Tensor): void;
  /** bool: which elements a dropout of that rate keeps in this step. */
  kept(rate: number, shape: Shape): Tensor;
  /** Calls a layer inside this one, in its own scope. */
  child(name: string, inputs: readonly Tensor[]): readonly Tensor[];
}

/** Names of a layer's weights; files may have others for them. */
export type WeightNames = Readonly<Record<string, readonly string[]>>;

export interface ChildPlan {
  readonly name: string;
  readonly plan: Plan;
  /** Whether names of weights in the file may leave out the child's name, and have only that of the layer around it. */
  readonly isNamedByParent?: boolean;
}

export interface Plan {
  readonly weights?: WeightNames;
  readonly statistics?: WeightNames;
  readonly children?: readonly ChildPlan[];
  /** Whether the file says that it is not trained. */
  readonly isFrozen?: boolean;
  run(call: Call): Tensor | readonly Tensor[];
}

/** Reads the layer of a config inside another. */
export type ReadLayer = (json: JsonObject) => Omit<ChildPlan, "isNamedByParent">;

/** Interprets the config of one kind of layer. */
export type LayerKind = (settings: Settings, read: ReadLayer) => Plan;

/** A layer of one input, which has no weights. */
export const plain = (compute: (x: Tensor, call: Call) => Tensor): Plan => ({
  run: (call) => compute(firstInput(call), call),
});

export const firstInput = ({ inputs }: Pick<Call, "inputs">): Tensor => inputs[0] as Tensor;

/** Elements that are kept are scaled up, so that the sum stays. */
export const dropOut = (x: Tensor, kept: Tensor, rate: number): Tensor =>
  where(kept, mul(x, 1 / (1 - rate)), 0);

/** Weights that files name as the layer does. */
export const weightNames = (...names: readonly string[]): WeightNames =>
  Object.fromEntries(names.map((name) => [name, [name]]));
