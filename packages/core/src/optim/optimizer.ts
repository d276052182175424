import type { Operand } from "../trace/emit.js";
import { mapTensors, type TensorTree } from "../trace/map-tensors.js";
import { literal, mul, neg } from "../trace/ops/elementwise.js";
import { expand } from "../trace/ops/movement.js";
import type { Tensor } from "../trace/tensor.js";
import { checkHyperparameter } from "./hyperparameter.js";

/** What an update may depend on besides gradients and state. */
export interface UpdateContext {
  /** i32 scalar: steps applied before this one. Skipped steps do not count. */
  readonly step: Tensor;
}

/**
 * A gradient transformation as in optax: `update` turns gradients into what is to be *added* to the
 * parameters and gives the next state. All f32, whatever the policy. Write one's own in traced operators.
 */
export interface Optimizer<S extends TensorTree = TensorTree> {
  readonly name: string;
  /** State for these parameters (f32 view). */
  init(parameters: TensorTree): S;
  update(
    gradients: TensorTree,
    state: S,
    parameters: TensorTree,
    context: UpdateContext,
  ): { readonly updates: TensorTree; readonly state: S };
}

/** A learning rate as a function of the count of applied steps (i32 scalar), giving an f32 scalar. */
export type Schedule = (step: Tensor) => Tensor;

/** A constant or a schedule. */
export type LearningRate = number | Schedule;

/** f32 zeros of every leaf's shape. */
export function zerosLike<T extends TensorTree>(tree: T): T {
  return mapTensors((leaf) => expand(literal(0), leaf.shape), tree);
}

/** @throws MP_INVALID_ARGUMENT for a constant that is no learning rate; a schedule is the user's word */
export function checkRate(what: string, learningRate: LearningRate): void {
  if (typeof learningRate !== "function")
    checkHyperparameter(`${what}: learningRate`, learningRate, { from: 0 });
}

/** The learning rate for this step: a number, or an f32 scalar of the graph. */
function rateAt(learningRate: LearningRate, context: UpdateContext): Operand {
  return typeof learningRate === "number" ? learningRate : learningRate(context.step);
}

/** f32 updates of -rate times each direction. */
export function descend(
  directions: TensorTree,
  learningRate: LearningRate,
  context: UpdateContext,
): TensorTree {
  const rate = rateAt(learningRate, context);
  const down = typeof rate === "number" ? -rate : neg(rate);
  return mapTensors((direction) => mul(direction, down), directions);
}
