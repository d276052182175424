/**
 * Loss scaling (Micikevicius et al., arXiv 1710.03740, §3.2): the loss is multiplied by a scale before the backward
 * pass so that small gradients stay within the range of the half dtype, and gradients are divided by the scale in f32.
 * A scaler is a value; its state is a tree of tensors in the graph like all other state, so no decision waits for the
 * host.
 */

import type { Tensor, TensorTree } from "@mp/graph";
import { checks, described, invalid, type OptionTable, readOptions, withDefault } from "@mp/graph/internal";
import {
  add,
  and,
  greaterOrEqual,
  less,
  literal,
  maximum,
  minimum,
  mul,
  not,
  sub,
  where,
} from "@mp/graph/ops";

/** The three functions of a scaler, in traced operators that run inside the graph on every engine. */
export interface LossScaler<S extends TensorTree = TensorTree> {
  /** The scaler as text: `dynamic(65536)`. */
  readonly name: string;
  /** Lets programs tell the scalers of this package apart; a custom scaler leaves it out. */
  readonly kind?: "none" | "static" | "dynamic";
  /**
   * Everything that decides how the scale changes. Loading a checkpoint with another description warns. Default `name`.
   */
  readonly description?: string;
  /** Warnings about the scaler's options; the trainer passes them on. */
  readonly warnings?: readonly string[];
  /** The smallest scale that the scaler returns; default 2^-126. A step with a scale outside the bounds is skipped. */
  readonly minScale?: number;
  /**
   * The largest scale that the scaler returns; default 2^126. If both bounds are in 1 … 2^24 and gradients are not
   * accumulated, clipping and unscaling are one multiplication.
   */
  readonly maxScale?: number;
  /**
   * Smallest and largest value of state scalars by path: `{ scale: [1, 2 ** 24] }`. A checkpoint with a value outside
   * is rejected. By default only the scale that follows from the state is checked.
   */
  readonly bounds?: Readonly<Record<string, readonly [smallest: number, largest: number]>>;
  /** The initial state of a run, in traced operators: usually f32 and i32 scalars. Checkpoints contain it. */
  init(): S;
  /** The scale of the next step, f32 scalar. */
  scale(state: S): Tensor;
  /**
   * The next state. `finite` (bool scalar) says whether loss, gradients and model state were finite at that scale.
   * `finite` is also true for a step skipped only because new parameters are not finite: no scale would have helped.
   */
  update(state: S, finite: Tensor): S;
}

type NoState = Readonly<Record<never, never>>;

function constantScale(name: string, kind: "none" | "static", scale: number): LossScaler<NoState> {
  return {
    name,
    kind,
    minScale: scale,
    maxScale: scale,
    init: () => ({}),
    scale: () => literal(scale),
    update: (state) => state,
  };
}

/** Scale 1, for f32 and bf16: non-finite steps are still detected and skipped. */
export function noLossScaling(): LossScaler<NoState> {
  return constantScale("none", "none", 1);
}

/** Smallest scale: a smaller one is subnormal, which engines may flush to 0. */
export const SMALLEST_SCALE: number = 2 ** -126;
/** Largest scale: the reciprocal of a larger one is subnormal, which engines may flush to 0. */
export const LARGEST_SCALE: number = 2 ** 126;

/** Largest i32 counter in a file: a counter is incremented once before it is compared. */
export const LARGEST_COUNTER: number = 2 ** 31 - 2;

const isNumber = (value: unknown): value is number => typeof value === "number";

const scaleAllowed = checks.claim(
  "a number from 2^-126 to 2^126, so that f32 can divide by it",
  (scale) => typeof scale === "number" && scale >= SMALLEST_SCALE && scale <= LARGEST_SCALE,
);

/** Warns of factors that are not powers of two: they round every gradient twice, when scaling and when unscaling. */
function unlessPowersOfTwo(what: string, factors: Readonly<Record<string, number>>): readonly string[] {
  return Object.entries(factors)
    .filter(([, factor]) => !Number.isInteger(Math.log2(factor)))
    .map(([name, factor]) => {
      const near = 2 ** Math.round(Math.log2(factor));
      return `${what}: ${name} ${factor} is not a power of two, so scaling rounds the gradients; ${near} would not`;
    });
}

/** A constant scale, such as the 8 … 512 of the papers. Powers of two scale and unscale exactly; other scales warn. */
export function staticLossScale(scale: number): LossScaler<NoState> {
  scaleAllowed("staticLossScale: scale", scale);
  const warnings = unlessPowersOfTwo("staticLossScale", { scale });
  return { ...constantScale(`static(${scale})`, "static", scale), warnings };
}

export interface DynamicLossScaleOptions {
  /** First scale; default 2^16, PyTorch's, which is safe because the loss is scaled in f32. */
  readonly initialScale?: number;
  /** Factor of the scale when it grows; default 2. */
  readonly growthFactor?: number;
  /** Factor of the scale on overflow; default 0.5. */
  readonly backoffFactor?: number;
  /** Number of finite steps in a row that grow the scale; default 2000. */
  readonly growthInterval?: number;
  /**
   * Finite steps at the start and after each overflow that do not count towards `growthInterval`; default 0, as in
   * PyTorch. DeepSpeed has 1.
   */
  readonly growthDelay?: number;
  /** Smallest scale; default the smaller of 1 and `initialScale`. */
  readonly minScale?: number;
  /** Largest scale; default the larger of 2^24 and `initialScale`. */
  readonly maxScale?: number;
  /** Number of overflows that reduce the scale. With 1 (default) the first one does; with 3, two are tolerated. */
  readonly hysteresis?: number;
  /** When the overflow count restarts: `on-good-step` (default; TransformerEngine, Apex) or `on-growth` (Megatron). */
  readonly refill?: "on-good-step" | "on-growth";
}

export type DynamicLossScaleState = {
  /** The scale, f32. */
  readonly scale: Tensor;
  /** i32: finite steps since the last overflow or growth; below 0 while `growthDelay` lasts. */
  readonly goodSteps: Tensor;
  /** i32: number of overflows until the scale is reduced; 1 means that the next overflow reduces it. */
  readonly tolerance: Tensor;
};

/** The result of `dynamicLossScale`: a scaler that exposes its options. */
export interface DynamicLossScaler extends LossScaler<DynamicLossScaleState> {
  readonly kind: "dynamic";
  /** All options, with defaults filled in. */
  readonly options: Required<DynamicLossScaleOptions>;
}

const DYNAMIC = {
  initialScale: withDefault(2 ** 16, scaleAllowed),
  growthFactor: withDefault(
    2,
    checks.claim("≥ 1", (factor) => isNumber(factor) && factor >= 1 && Number.isFinite(Math.fround(factor))),
  ),
  backoffFactor: withDefault(
    0.5,
    checks.claim("between 0 and 1", (factor) => isNumber(factor) && factor > 0 && factor < 1),
  ),
  growthInterval: withDefault(2000, checks.count),
  growthDelay: withDefault(0, checks.integer(0, LARGEST_COUNTER)),
  minScale: checks.optional(scaleAllowed),
  maxScale: checks.optional(scaleAllowed),
  hysteresis: withDefault(1, checks.count),
  refill: withDefault("on-good-step", checks.oneOf("on-good-step", "on-growth")),
} satisfies OptionTable<DynamicLossScaleOptions>;

/**
 * Makes a scaler that grows the scale after `growthInterval` finite steps and reduces it on overflow: PyTorch's
 * GradScaler with a floor, a cap and hysteresis.
 * @throws MP_INVALID_ARGUMENT for options that could stall or explode the scale
 */
export function dynamicLossScale(options: DynamicLossScaleOptions = {}): DynamicLossScaler {
  const read = readOptions("dynamicLossScale", options, DYNAMIC, { example: "{ initialScale: 1024 }" });
  const { initialScale, growthFactor, backoffFactor, growthInterval, growthDelay, hysteresis, refill } = read;
  const { minScale = Math.min(1, initialScale), maxScale = Math.max(2 ** 24, initialScale) } = read;
  // Not -growthDelay, which is -0 without a delay.
  const restart = 0 - growthDelay;
  if (!(minScale <= initialScale && initialScale <= maxScale)) {
    throw invalid(
      `dynamicLossScale: initialScale ${initialScale} is outside minScale ${minScale} … maxScale ${maxScale}`,
    );
  }
  return {
    name: `dynamic(${initialScale})`,
    kind: "dynamic",
    description: described("dynamic", {
      growthFactor,
      backoffFactor,
      growthInterval,
      // A delay of 0 is left out, as in checkpoints that were written before the option existed.
      ...(growthDelay === 0 ? {} : { growthDelay }),
      minScale,
      maxScale,
      hysteresis,
      refill,
    }),
    options: { ...read, minScale, maxScale },
    minScale,
    maxScale,
    bounds: {
      // Wider than the options' bounds: a run may resume with other options than its file was made with.
      scale: [SMALLEST_SCALE, LARGEST_SCALE],
      goodSteps: [restart, LARGEST_COUNTER],
      tolerance: [1, 2 ** 31 - 1],
    },
    warnings: unlessPowersOfTwo("dynamicLossScale", {
      initialScale,
      // No warning for a bound that follows from the initial scale: the user did not set it.
      ...(options.minScale === undefined ? {} : { minScale }),
      ...(options.maxScale === undefined ? {} : { maxScale }),
      growthFactor,
      backoffFactor,
    }),
    init: () => ({
      scale: literal(initialScale),
      goodSteps: literal(restart, "i32"),
      tolerance: literal(hysteresis, "i32"),
    }),
    // A run may resume from a scale that other options produced.
    scale: ({ scale }) => minimum(maximum(scale, minScale), maxScale),
    update: ({ scale, goodSteps, tolerance }, finite) => {
      const good = add(goodSteps, 1);
      const grows = and(finite, greaterOrEqual(good, growthInterval));
      const left = sub(tolerance, 1);
      const backsOff = and(not(finite), less(left, 1));
      const grown = minimum(mul(scale, growthFactor), maxScale);
      // The cap is for a state from another source, because an infinite scale would stay infinite forever.
      const backedOff = minimum(maximum(mul(scale, backoffFactor), minScale), maxScale);
      const refills = refill === "on-good-step" ? finite : grows;
      // Exhausted tolerance stays exhausted until it is refilled: every further overflow backs off immediately.
      const spent = where(finite, tolerance, maximum(left, 1));
      // Growth starts the next interval at once; only an overflow has a delay after it.
      const restarted = growthDelay === 0 ? 0 : where(finite, literal(0, "i32"), restart);
      return {
        scale: where(grows, grown, where(backsOff, backedOff, scale)),
        goodSteps: where(and(finite, not(grows)), good, restarted),
        tolerance: where(refills, literal(hysteresis, "i32"), spent),
      };
    },
  };
}
