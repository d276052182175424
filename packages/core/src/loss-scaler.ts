/**
 * Loss scaling (Micikevicius et al., arXiv 1710.03740, §3.2): the loss is multiplied by a scale before the
 * backward pass so that small gradients stay inside a half's range, and gradients are divided by it in f32.
 * A scaler is a value; its state is a tree of tensors that lives in the graph with everything else, so no
 * decision ever waits for the host.
 */
import { described } from "./described.js";
import { MpError } from "./errors.js";
import { checkOptions } from "./options.js";
import { shown } from "./shown.js";
import type { TensorTree } from "./trace/map-tensors.js";
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
} from "./trace/ops/elementwise.js";
import type { Tensor } from "./trace/tensor.js";

/** One's own scaler is these three functions in traced operators; it then runs inside the graph on every engine. */
export interface LossScaler<S extends TensorTree = TensorTree> {
  /** How it prints: `dynamic(65536)`. */
  readonly name: string;
  /** All that decides how the scale moves; a checkpoint made under another one is loaded with a warning. Default `name`. */
  readonly description?: string;
  /** What the user should know of these options; the trainer passes it on. */
  readonly warnings?: readonly string[];
  /** The largest scale that it will give, where it has one; left out, any may come. */
  readonly maxScale?: number;
  /** The state that a run starts from, in traced operators: f32 and i32 scalars as a rule, kept in every checkpoint. */
  init(): S;
  /** The scale for the coming step, f32 scalar. */
  scale(state: S): Tensor;
  /** `finite` (bool scalar) says whether loss, gradients and model state were finite at that scale. */
  update(state: S, finite: Tensor): S;
}

type NoState = Readonly<Record<never, never>>;

/** Scale 1, for f32 and bf16: the finite check and the skip stay on. */
export function noLossScaling(): LossScaler<NoState> {
  return { name: "none", maxScale: 1, init: () => ({}), scale: () => literal(1), update: (state) => state };
}

/** Beyond them a scale or its reciprocal is subnormal, which engines may flush to 0, or infinite. */
const SMALLEST_SCALE = 2 ** -126;
const LARGEST_SCALE = 2 ** 126;

function checkScale(what: string, name: string, scale: number): void {
  if (typeof scale === "number" && scale >= SMALLEST_SCALE && scale <= LARGEST_SCALE) return;
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `${what}: ${name} is a number from 2^-126 to 2^126, so that f32 can divide by it, got ${shown(scale)}`,
    { details: { [name]: scale } },
  );
}

/** Scaling by anything else rounds every gradient twice, once on the way in and once on the way out. */
function unlessPowersOfTwo(what: string, factors: Readonly<Record<string, number>>): readonly string[] {
  return Object.entries(factors)
    .filter(([, factor]) => !Number.isInteger(Math.log2(factor)))
    .map(([name, factor]) => {
      const near = 2 ** Math.round(Math.log2(factor));
      return `${what}: ${name} ${factor} is not a power of two, so scaling rounds the gradients; ${near} would not`;
    });
}

/** One scale throughout, such as the 8 … 512 of the papers. Powers of two scale and unscale exactly; others warn. */
export function staticLossScale(scale: number): LossScaler<NoState> {
  checkScale("staticLossScale", "scale", scale);
  return {
    name: `static(${scale})`,
    maxScale: scale,
    warnings: unlessPowersOfTwo("staticLossScale", { scale }),
    init: () => ({}),
    scale: () => literal(scale),
    update: (state) => state,
  };
}

export interface DynamicLossScaleOptions {
  /** Default 2^16, PyTorch's; safe because the loss is scaled in f32. */
  readonly initialScale?: number;
  /** Default 2. */
  readonly growthFactor?: number;
  /** Default 0.5. */
  readonly backoffFactor?: number;
  /** Exactly this many finite steps in a row grow the scale; default 2000. */
  readonly growthInterval?: number;
  /** Default 1: below it unscaling could overflow what the check saw as finite. */
  readonly minScale?: number;
  /** Default the larger of 2^24 and `initialScale`. */
  readonly maxScale?: number;
  /** The how-manieth overflow backs the scale off, one less being tolerated; default 1 backs off at once. */
  readonly hysteresis?: number;
  /** When tolerance is restored: `on-good-step` (default; TransformerEngine, Apex) or `on-growth` (Megatron). */
  readonly refill?: "on-good-step" | "on-growth";
}

export type DynamicLossScaleState = {
  /** f32. */
  readonly scale: Tensor;
  /** i32: finite steps since the last overflow or growth. */
  readonly goodSteps: Tensor;
  /** i32: at which overflow from here the scale backs off; 1 is the next. */
  readonly tolerance: Tensor;
};

/**
 * Grows the scale after `growthInterval` finite steps, backs off on overflow (PyTorch's GradScaler with a
 * floor, a cap and hysteresis).
 * @throws MP_INVALID_ARGUMENT for options that could stall or explode the scale
 */
export function dynamicLossScale(options: DynamicLossScaleOptions = {}): LossScaler<DynamicLossScaleState> {
  checkOptions(
    "dynamicLossScale",
    options,
    {
      initialScale: true,
      growthFactor: true,
      backoffFactor: true,
      growthInterval: true,
      minScale: true,
      maxScale: true,
      hysteresis: true,
      refill: true,
    },
    "{ initialScale: 1024 }",
  );
  const initialScale = options.initialScale ?? 2 ** 16;
  const {
    growthFactor = 2,
    backoffFactor = 0.5,
    growthInterval = 2000,
    minScale = 1,
    hysteresis = 1,
  } = options;
  const maxScale = options.maxScale ?? Math.max(2 ** 24, initialScale);
  const refill = options.refill ?? "on-good-step";
  for (const [name, scale] of Object.entries({ initialScale, minScale, maxScale })) {
    checkScale("dynamicLossScale", name, scale);
  }
  const refuse = (message: string): never => {
    throw new MpError("MP_INVALID_ARGUMENT", `dynamicLossScale: ${message}`);
  };
  if (!(minScale <= initialScale && initialScale <= maxScale)) {
    refuse(`initialScale ${initialScale} is outside minScale ${minScale} … maxScale ${maxScale}`);
  }
  if (!(growthFactor >= 1 && Number.isFinite(Math.fround(growthFactor))))
    refuse(`growthFactor is 1 or more, got ${shown(growthFactor)}`);
  if (!(backoffFactor > 0 && backoffFactor < 1))
    refuse(`backoffFactor is between 0 and 1, got ${shown(backoffFactor)}`);
  for (const [name, count] of Object.entries({ growthInterval, hysteresis })) {
    if (!Number.isInteger(count) || count < 1 || count > 2 ** 31 - 1)
      refuse(`${name} is an integer of 1 or more, got ${shown(count)}`);
  }
  if (refill !== "on-good-step" && refill !== "on-growth")
    refuse(`refill is on-good-step or on-growth, got ${shown(refill)}`);

  return {
    name: `dynamic(${initialScale})`,
    description: described("dynamic", {
      growthFactor,
      backoffFactor,
      growthInterval,
      minScale,
      maxScale,
      hysteresis,
      refill,
    }),
    maxScale,
    warnings: unlessPowersOfTwo("dynamicLossScale", {
      initialScale,
      minScale,
      // One that follows from the initial scale was not asked for.
      ...(options.maxScale === undefined ? {} : { maxScale }),
      growthFactor,
      backoffFactor,
    }),
    init: () => ({
      scale: literal(initialScale),
      goodSteps: literal(0, "i32"),
      tolerance: literal(hysteresis, "i32"),
    }),
    scale: (state) => state.scale,
    update: ({ scale, goodSteps, tolerance }, finite) => {
      const good = add(goodSteps, 1);
      const grows = and(finite, greaterOrEqual(good, growthInterval));
      const left = sub(tolerance, 1);
      const backsOff = and(not(finite), less(left, 1));
      const grown = minimum(mul(scale, growthFactor), maxScale);
      // The cap is for a state that comes from elsewhere: an infinite scale would stay infinite for ever.
      const backedOff = minimum(maximum(mul(scale, backoffFactor), minScale), maxScale);
      const refills = refill === "on-good-step" ? finite : grows;
      // Exhausted tolerance stays exhausted until it is refilled: each further overflow backs off at once.
      const spent = where(finite, tolerance, maximum(left, 1));
      return {
        scale: where(grows, grown, where(backsOff, backedOff, scale)),
        goodSteps: where(and(finite, not(grows)), good, 0),
        tolerance: where(refills, literal(hysteresis, "i32"), spent),
      };
    },
  };
}
