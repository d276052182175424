import { isComputeFloat } from "../dtype.js";
import { MpError } from "../errors.js";
import { shown } from "../shown.js";
import { mapTensors, type TensorTree } from "../trace/map-tensors.js";
import { literal, mul, neg } from "../trace/ops/elementwise.js";
import { expand } from "../trace/ops/movement.js";
import { isTensor, type Tensor } from "../trace/tensor.js";
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
  /** The name with all hyperparameters; a checkpoint made under another one is loaded with a warning. Default `name`. */
  readonly description?: string;
  /** State for these parameters (f32 view). */
  init(parameters: TensorTree): S;
  update(
    gradients: TensorTree,
    state: S,
    parameters: TensorTree,
    context: UpdateContext,
  ): {
    readonly updates: TensorTree;
    readonly state: S;
    /** Learning rates that are computed (floating scalars): a step is skipped where one is not finite. */
    readonly rates?: readonly Tensor[];
  };
}

/** @throws MP_INVALID_ARGUMENT for an update that is none: types do not hold in JavaScript */
export function checkUpdate(optimizer: string, update: unknown): void {
  const isObject = typeof update === "object" && update !== null;
  if (isObject && "updates" in update && "state" in update) return;
  const got = isObject ? `an object with ${Object.keys(update).join(", ") || "nothing"}` : String(update);
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `optimizer ${optimizer}: update returns { updates, state }, got ${got}`,
  );
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

/**
 * The learning rate for this step, a floating scalar.
 * @throws MP_SHAPE_MISMATCH for a schedule that gives more than one rate, which would be drawn over the parameters
 */
function rateAt(schedule: Schedule, context: UpdateContext): Tensor {
  const rate: unknown = rateOf(schedule, context);
  if (isTensor(rate) && rate.shape.length === 0 && isComputeFloat(rate.dtype)) return rate;
  const code = !isTensor(rate)
    ? "MP_INVALID_ARGUMENT"
    : rate.shape.length === 0
      ? "MP_DTYPE_MISMATCH"
      : "MP_SHAPE_MISMATCH";
  const got = isTensor(rate) ? String(rate) : shown(rate);
  const hint = code === "MP_DTYPE_MISMATCH" ? `; ${STEP_HINT}` : "";
  throw new MpError(code, `learningRate: a schedule gives a floating scalar tensor, got ${got}${hint}`);
}

const STEP_HINT = 'a schedule gets the step as i32, compute with cast(step, "f32")';

/** The step is i32, and integers meet neither fractions nor floats: whoever forgets it is told. */
function rateOf(schedule: Schedule, { step }: UpdateContext): unknown {
  try {
    return schedule(step);
  } catch (error) {
    if (!MpError.is(error) || !error.message.includes("i32")) throw error;
    const { code, message, details } = error;
    throw new MpError(code, `${message}; ${STEP_HINT}`, { details, cause: error });
  }
}

/** f32 updates of -rate times each direction, and the rate where it is computed. */
export function descend(
  directions: TensorTree,
  learningRate: LearningRate,
  context: UpdateContext,
): { readonly updates: TensorTree; readonly rates?: readonly Tensor[] } {
  if (typeof learningRate === "number") {
    return { updates: mapTensors((direction) => mul(direction, -learningRate), directions) };
  }
  const rate = rateAt(learningRate, context);
  const down = neg(rate);
  return { updates: mapTensors((direction) => mul(direction, down), directions), rates: [rate] };
}
