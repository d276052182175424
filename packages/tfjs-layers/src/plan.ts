// A layer of a file: its weights, and what it computes.
import type { Shape, Tensor } from "@mp/graph";
import { mul, where } from "@mp/graph/ops";
import type { JsonObject } from "./problem.js";
import type { Settings } from "./settings.js";

/** One call of a layer in a trace. */
export interface Call {
  readonly inputs: readonly Tensor[];
  readonly training: boolean;
  weight(name: string): Tensor;
  statistic(name: string): Tensor;
  /** Sets a statistic for the next step. */
  follow(name: string, next: Tensor): void;
  /** A bool mask, true for elements that dropout with this rate keeps in this step. */
  dropoutMask(rate: number, shape: Shape): Tensor;
  /** Calls an inner layer, in its own scope. */
  child(name: string, inputs: readonly Tensor[]): readonly Tensor[];
}

/** A layer's weights by name, each with the names that files may use for it. */
export type WeightNames = Readonly<Record<string, readonly string[]>>;

export interface ChildPlan {
  readonly name: string;
  readonly plan: Plan;
  /** Whether a file may name the layer's weights after the outer layer alone. */
  readonly isNamedByParent?: boolean;
}

export interface Plan {
  readonly weights?: WeightNames;
  readonly statistics?: WeightNames;
  readonly children?: readonly ChildPlan[];
  /** Whether the file marks the layer as not trainable. */
  readonly isFrozen?: boolean;
  run(call: Call): Tensor | readonly Tensor[];
}

/** Reads an inner layer from its config. */
export type ReadLayer = (json: JsonObject) => Omit<ChildPlan, "isNamedByParent">;

/** Interprets the config of one kind of layer. */
export type LayerKind = (settings: Settings, read: ReadLayer) => Plan;

/** Makes a kind of layer with one input and no weights: `read` takes settings from the config, for `compute`. */
export const unary =
  <S>(read: (settings: Settings) => S, compute: (x: Tensor, settings: S, call: Call) => Tensor): LayerKind =>
  (settings) => {
    const given = read(settings);
    return { run: (call) => compute(firstInput(call), given, call) };
  };

export const firstInput = ({ inputs }: Pick<Call, "inputs">): Tensor => inputs[0] as Tensor;

/** Sets elements to 0 where `mask` is false, and scales others by 1 / (1 - rate) to keep the expected sum. */
export const dropOut = (x: Tensor, mask: Tensor, rate: number): Tensor =>
  where(mask, mul(x, 1 / (1 - rate)), 0);

/** Weights for which files and this package use the same names. */
export const weightNames = (...names: readonly string[]): WeightNames =>
  Object.fromEntries(names.map((name) => [name, [name]]));
