/** Precisions whose products have operands of 8 or 4 bits; everything else is as in `float32`. */
import { checks, type OptionTable, type OptionValues, readOptions, withDefault } from "@mp/graph/internal";
import { PLACES, type PlaceOptions, type RecipeOptions, recipe } from "../quantize/define-recipe.js";
import type { DelayedScaling } from "../quantize/delayed-scaling.js";
import type { Recipe } from "../quantize/recipe.js";
import { epsilonCheck, type ScaleRule } from "../quantize/rule.js";
import { float32, type Precision } from "./presets.js";

/** A precision with one recipe for all steps. */
export interface QuantizedPrecision extends Precision {
  readonly recipe: Recipe;
}

const withRecipe = (options: RecipeOptions): QuantizedPrecision => ({
  ...float32(),
  name: options.name,
  recipe: recipe(options),
});

export interface Float8Options extends PlaceOptions {
  /** `tensor` (default): one scale for each tensor. `row`: one for each row along the axis that is summed over. */
  readonly granularity?: "tensor" | "row";
  /** The format of gradients: `f8e5m2` (default) for its range, or `f8e4m3` as for the other operands. */
  readonly gradient?: "f8e5m2" | "f8e4m3";
  /** Whether scales are powers of two. Default false. */
  readonly powerOfTwo?: boolean;
  /** `delayedScaling()`: scales follow from earlier steps. Default: from the tensor itself. */
  readonly scaling?: DelayedScaling;
  /** The smallest magnitude that a scale is made for; default 1e-12, as in torchao and nanochat. */
  readonly epsilon?: number;
}

const FLOAT8 = {
  granularity: withDefault("tensor", checks.oneOf("tensor", "row")),
  gradient: withDefault("f8e5m2", checks.oneOf("f8e5m2", "f8e4m3")),
  powerOfTwo: withDefault(false, checks.truth),
  scaling: checks.optional(checks.object),
  epsilon: withDefault(1e-12, epsilonCheck),
  ...PLACES,
} satisfies OptionTable<Float8Options>;

/**
 * Operands of 8 bits under scales that follow from each tensor itself: current scaling, as `Float8CurrentScaling` of
 * TransformerEngine, `Float8LinearConfig` of torchao and nanochat have it.
 */
export function float8(options: Float8Options = {}): QuantizedPrecision {
  const read = readOptions("float8", options, FLOAT8);
  const { granularity, gradient, powerOfTwo, epsilon, scaling, ...places } = read;
  const shared = { granularity, scale: { powerOfTwo }, epsilon };
  const forward = { format: "f8e4m3", ...shared } as const;
  return withRecipe({
    name: scaling ? "float8_delayed" : granularity === "row" ? "float8_row" : "float8",
    input: forward,
    weight: forward,
    gradient: { format: gradient, ...shared },
    ...(scaling === undefined ? {} : { scaling }),
    ...places,
  });
}

const ROUNDING = checks.oneOf("floor", "even", "ceil", "rceil");

/** Options of the precisions whose scales are powers of two for blocks of 32 elements. */
export interface MxScaleOptions extends PlaceOptions {
  /** Rounding of scales from the largest magnitude, see `ScaleRule`. Default `rceil`, which saturates nothing. */
  readonly rounding?: NonNullable<ScaleRule["rounding"]>;
}

export interface Mxfp8Options extends MxScaleOptions {
  /** The format of gradients: `f8e4m3` (default), as for the other operands, or `f8e5m2`. */
  readonly gradient?: "f8e4m3" | "f8e5m2";
}

const MXFP8 = {
  gradient: withDefault("f8e4m3", checks.oneOf("f8e4m3", "f8e5m2")),
  rounding: withDefault("rceil", ROUNDING),
  ...PLACES,
} satisfies OptionTable<Mxfp8Options>;

/** Operands of 8 bits in blocks of 32 along the axis that is summed over, scaled by powers of two (OCP MX 1.0). */
export function mxfp8(options: Mxfp8Options = {}): QuantizedPrecision {
  const { gradient, rounding, ...places } = readOptions("mxfp8", options, MXFP8);
  const shared = { granularity: "1x32", scale: { format: "e8m0", rounding } } as const;
  const forward = { format: "f8e4m3", ...shared } as const;
  const rules = { input: forward, weight: forward, gradient: { format: gradient, ...shared } };
  return withRecipe({ name: "mxfp8", ...rules, ...places });
}

/** Options that keep training in 4 bits unbiased. */
export interface FourBitOptions {
  /** Whether gradients are rounded stochastically. Default true. */
  readonly stochasticRounding?: boolean;
  /** Whether the operands of a weight's gradient go through a random Hadamard transform. Default true. */
  readonly hadamard?: boolean;
}

const FOUR_BITS = {
  stochasticRounding: withDefault(true, checks.truth),
  hadamard: withDefault(true, checks.truth),
} satisfies OptionTable<FourBitOptions>;

function fourBits(
  name: string,
  rules: Pick<RecipeOptions, "input" | "weight">,
  options: OptionValues<FourBitOptions, typeof FOUR_BITS> & PlaceOptions,
): QuantizedPrecision {
  const { stochasticRounding, ...rest } = options;
  const rounding = stochasticRounding ? "stochastic" : "nearest";
  return withRecipe({ name, ...rules, gradient: { ...rules.input, rounding }, ...rest });
}

export interface Mxfp4Options extends MxScaleOptions, FourBitOptions {}

const MXFP4 = {
  rounding: withDefault("rceil", ROUNDING),
  ...FOUR_BITS,
  ...PLACES,
} satisfies OptionTable<Mxfp4Options>;

/** Operands in OCP's MXFP4, with the stochastic rounding and the transform of NVIDIA's recipe for NVFP4. */
export function mxfp4(options: Mxfp4Options = {}): QuantizedPrecision {
  const { rounding, ...rest } = readOptions("mxfp4", options, MXFP4);
  const rule = { format: "e2m1", granularity: "1x32", scale: { format: "e8m0", rounding } } as const;
  return fourBits("mxfp4", { input: rule, weight: rule }, rest);
}

export interface Nvfp4Options extends PlaceOptions, FourBitOptions {
  /** Whether weights share a scale in squares of 16 × 16, so that all products read the same codes. Default true. */
  readonly squareWeights?: boolean;
}

const NVFP4 = {
  squareWeights: withDefault(true, checks.truth),
  ...FOUR_BITS,
  ...PLACES,
} satisfies OptionTable<Nvfp4Options>;

/**
 * Operands of 4 bits in blocks of 16 with 8-bit scales under a scale of the whole tensor: NVIDIA's recipe
 * (arXiv 2509.25149), `NVFP4BlockScaling` of TransformerEngine.
 */
export function nvfp4(options: Nvfp4Options = {}): QuantizedPrecision {
  const { squareWeights, ...rest } = readOptions("nvfp4", options, NVFP4);
  const rule = { format: "e2m1", granularity: "1x16", scale: { format: "f8e4m3" } } as const;
  const weight = squareWeights ? ({ ...rule, granularity: "16x16" } as const) : rule;
  return fourBits("nvfp4", { input: rule, weight }, rest);
}
