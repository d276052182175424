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
  /** The rates that the host has set, f32 scalars by group of the optimizer that is called. */
  readonly settable?: Readonly<Record<string, Tensor>>;
  /** A stream of this step's random numbers; needed by what rounds stochastically. */
  readonly key?: Key;
}

/** Common to optimizers and the parts before them in a `chain`. All f32, under any policy. */
interface Part<S extends TensorTree> {
  readonly name: string;
  /** The name with all hyperparameters. Loading a checkpoint with another description warns. Default `name`. */
  readonly description?: string;
  /**
   * The scope of an element's update: the gradient, state and weight of that `element` alone, or those of its whole
   * `leaf`. Left out, anything. It says how an optimizer may be divided among ranks.
   */
  readonly scope?: "element" | "leaf";
  /** Its learning rates by group of parameters; without groups its only one as `default`. A step reports them. */
  readonly learningRates?: Readonly<Record<string, LearningRate>>;
  /** State for these parameters (f32 view). */
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
 * Turns gradients into what is *added* to the parameters: `updates` have the sign and size of a descent step. Write
 * your own in traced operators.
 */
export interface Optimizer<S extends TensorTree = TensorTree> extends Part<S> {
  /** Default `descent`. */
  readonly kind?: "descent";
}

/**
 * Turns gradients into other gradients: clipped, with a penalty added, preconditioned. Its `updates` are gradients
 * without sign and learning rate, so use it before an optimizer in a `chain`, never alone.
 */
export interface GradientTransformation<S extends TensorTree = TensorTree> extends Part<S> {
  readonly kind: "gradient";
}

/** A learning rate (f32 scalar) as a function of the number of applied steps (i32 scalar). */
export type Schedule = (step: Tensor) => Tensor;

/** A constant, a schedule, or one that the host sets. */
export type LearningRate = number | Schedule | SettableRate;

/** The widest scope of several parts, as a property to spread into their combination. */
export function widestScope(parts: readonly Pick<Optimizer, "scope">[]): Pick<Optimizer, "scope"> {
  const scopes = parts.map(({ scope }) => scope);
  if (scopes.includes(undefined)) return {};
  return { scope: scopes.includes("leaf") ? "leaf" : "element" };
}

/** The group of all parameters, or of those that no rule matches. */
export const DEFAULT_GROUP = "default";

/** Names a group of the optimizer of a group. */
export function groupName(outer: string, inner: string): string {
  if (inner === DEFAULT_GROUP) return outer;
  return outer === DEFAULT_GROUP ? inner : `${outer}.${inner}`;
}

/** The number, in f32, with the shape of every leaf. */
export function fillLike<T extends TensorTree>(tree: T, value: number): T {
  return mapTensors((leaf) => expand(literal(value), leaf.shape), tree);
}

export const zerosLike = <T extends TensorTree>(tree: T): T => fillLike(tree, 0);

/** Checks a constant rate; a schedule is checked when it returns one, a settable rate when it is made. */
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

/** The step is i32, which does not mix with fractions or floats; if a schedule forgets the cast, the error says so. */
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

/** Maps the learning rate of each group by `of`, and drops those for which it gives undefined. */
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

/** The initial rates of those that the host sets, f32 scalars by group. */
export const initialRates = (optimizer: Rated): RatesByGroup =>
  ratesBy(optimizer, (rate) => (isSettable(rate) ? literal(rate.initial) : undefined));

/** The learning rates by group that are computed in the step, f32 scalars; the others are constants. */
export const computeRates = (optimizer: Rated, context: UpdateContext): RatesByGroup =>
  ratesBy(optimizer, (rate, group) =>
    typeof rate === "number" ? undefined : cast(rateAt(rate, context, group), "f32"),
  );

/** f32 updates: -rate times each direction; also the rate, if it is computed. */
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
