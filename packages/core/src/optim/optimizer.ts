import {
  isComputeFloat,
  isTensor,
  type Key,
  MpError,
  mapTensors,
  type Tensor,
  type TensorTree,
} from "@mp/graph";
import { type Check, shown } from "@mp/graph/internal";
import { cast, expand, literal, mul, neg } from "@mp/graph/ops";
import { checkHyperparameter } from "./hyperparameter.js";
import { isSettable, type SettableRate } from "./settable.js";

/** Everything that an update may depend on, besides gradients and state. */
export interface UpdateContext {
  /** i32 scalar: steps applied before this one. Skipped steps do not count. */
  readonly step: Tensor;
  /** Rates that the host has set: f32 scalars by group of this optimizer. */
  readonly settable?: Readonly<Record<string, Tensor>>;
  /** Stream of this step's random numbers, for stochastic rounding. */
  readonly key?: Key;
  /** Reports a likely mistake of the user, each text once in a run. */
  readonly warn?: (message: string) => void;
}

/** Common to optimizers and gradient transformations. All tensors are f32, under any policy. */
interface Part<S extends TensorTree> {
  readonly name: string;
  /** The name with all hyperparameters. Loading a checkpoint with another description warns. Default `name`. */
  readonly description?: string;
  /**
   * The values that the update of an element depends on: gradient, state and weight of that `element` alone, or of its
   * whole `leaf`. By default the update may depend on anything. Decides how the optimizer may be sharded over ranks.
   */
  readonly scope?: "element" | "leaf";
  /** Learning rates by group of parameters, which a step reports. An optimizer without groups has one, `default`. */
  readonly learningRates?: Readonly<Record<string, LearningRate>>;
  /** Makes the state for these parameters, which are given in f32. */
  init(parameters: TensorTree): S;
  update(
    gradients: TensorTree,
    state: S,
    parameters: TensorTree,
    context: UpdateContext,
  ): {
    /** Updates with the structure and shapes of `gradients`, f32. */
    readonly updates: TensorTree;
    readonly state: S;
    /**
     * Computed learning rates, and norms to divide by (floating scalars); if one is not finite, the step is skipped.
     */
    readonly rates?: readonly Tensor[];
  };
}

/**
 * Turns gradients into updates that are *added* to the parameters, with the sign and size of a descent step. Write
 * your own in traced operators.
 */
export interface Optimizer<S extends TensorTree = TensorTree> extends Part<S> {
  /** Default `descent`. */
  readonly kind?: "descent";
}

/**
 * Turns gradients into other gradients: clips them, adds a penalty, preconditions them. Its `updates` are gradients
 * without sign and learning rate, so use it before an optimizer in a `chain`, never alone.
 */
export interface GradientTransformation<S extends TensorTree = TensorTree> extends Part<S> {
  readonly kind: "gradient";
}

/** A learning rate (f32 scalar) as a function of the number of applied steps (i32 scalar). */
export type Schedule = (step: Tensor) => Tensor;

/** A constant rate, a schedule, or a rate that the host sets. */
export type LearningRate = number | Schedule | SettableRate;

/** The widest scope among several parts, as a property to spread into the combined optimizer. */
export function widestScope(parts: readonly Pick<Optimizer, "scope">[]): Pick<Optimizer, "scope"> {
  const scopes = parts.map(({ scope }) => scope);
  if (scopes.includes(undefined)) return {};
  return { scope: scopes.includes("leaf") ? "leaf" : "element" };
}

/** The group of all parameters or, in `byPath`, of the parameters that no rule matches. */
export const DEFAULT_GROUP = "default";

/** The name of a group within a group: `outer.inner`. If one of the two is `default`, the other's name alone. */
export function groupName(outer: string, inner: string): string {
  if (inner === DEFAULT_GROUP) return outer;
  return outer === DEFAULT_GROUP ? inner : `${outer}.${inner}`;
}

/** A tree of f32 leaves with the structure and shapes of `tree`, filled with a number. */
export function fillLike<T extends TensorTree>(tree: T, value: number): T {
  return mapTensors((leaf) => expand(literal(value), leaf.shape), tree);
}

export const zerosLike = <T extends TensorTree>(tree: T): T => fillLike(tree, 0);

/** Checks a constant rate. A schedule is checked when it returns a rate, a settable rate when it is made. */
export const rate: Check = (what, rate) => {
  if (typeof rate !== "function" && !isSettable(rate)) checkHyperparameter(what, rate as number, { from: 0 });
};

/**
 * The learning rate for this step, a floating scalar.
 * @throws MP_SHAPE_MISMATCH for a schedule that returns more than one rate, which would broadcast over the parameters
 */
export function rateAt(
  schedule: Schedule | SettableRate,
  context: UpdateContext,
  group: string = DEFAULT_GROUP,
): Tensor {
  if (isSettable(schedule)) return context.settable?.[group] ?? literal(schedule.initial);
  const rate: unknown = computeRate(schedule, context);
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

/** Calls a schedule. The step is i32; if the schedule mixes it with floats, the error names the cast. */
function computeRate(schedule: Schedule, { step }: UpdateContext): unknown {
  try {
    return schedule(step);
  } catch (error) {
    if (!MpError.is(error)) throw error;
    const { code, message, details } = error;
    const { dtype, dtypes = [dtype] } = details;
    if (!Array.isArray(dtypes) || !dtypes.includes("i32")) throw error;
    throw new MpError(code, `${message}; ${STEP_HINT}`, { details, cause: error });
  }
}

type Rated = Pick<Optimizer, "learningRates">;
type RatesByGroup = Readonly<Record<string, Tensor>>;

/** Maps the learning rate of each group by `of`, and drops groups for which `of` returns undefined. */
function ratesBy(
  { learningRates = {} }: Rated,
  of: (rate: LearningRate, group: string) => Tensor | undefined,
): RatesByGroup {
  const rates = Object.entries(learningRates).flatMap(([group, rate]) => {
    const made = of(rate, group);
    return made === undefined ? [] : [[group, made] as const];
  });
  return Object.fromEntries(rates);
}

/** The initial values of the settable rates, f32 scalars by group. */
export const initialRates = (optimizer: Rated): RatesByGroup =>
  ratesBy(optimizer, (rate) => (isSettable(rate) ? literal(rate.initial) : undefined));

/** The rates that the step computes, f32 scalars by group; the other rates are constants. */
export const computeRates = (optimizer: Rated, context: UpdateContext): RatesByGroup =>
  ratesBy(optimizer, (rate, group) =>
    typeof rate === "number" ? undefined : cast(rateAt(rate, context, group), "f32"),
  );

/** Makes f32 updates, directions times -rate. Also returns the rate if it is computed. */
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
