import type { Key, Tensor } from "@mp/graph";
import { checks, dtypeMismatch, invalid } from "@mp/graph/internal";
import { abs, cast, clip, maximum, mul, reshape } from "@mp/graph/ops";
import { type Blocks, blocksOf } from "./blocks.js";
import { elementFormats } from "./element-format.js";
import { type QuantizationRule, type ReadRule, readRule } from "./rule.js";
import { givenScale, scaleMakers } from "./scales.js";

/** A quantized tensor. */
export interface Quantized {
  /** Codes in the tensor's shape: f8e4m3 or f8e5m2, or numbers of e2m1's grid in f32. */
  readonly codes: Tensor;
  /** The factor of each block, f32, with size 1 along axes that share it; a scalar for the whole tensor. */
  readonly scale: Tensor;
  /** The f32 scale of the whole tensor, by which `scale` is multiplied; only with scales of `f8e4m3`. */
  readonly tensorScale?: Tensor;
  /** The numbers that the codes stand for, f32, in the tensor's shape. */
  readonly values: Tensor;
}

/**
 * Quantizes x (f32, any shape) by a rule. If a number is not finite, its whole block becomes NaN, so that the check of
 * a step finds it.
 * @param axis the inner axis of x, over which a product sums; negative axes count from the end
 * @param key the stream of random numbers for stochastic rounding
 * @throws MP_INVALID_ARGUMENT for a rule with unknown or unfit options or an axis that x lacks, MP_DTYPE_MISMATCH
 */
export function quantize(x: Tensor, rule: QuantizationRule, axis: number, key?: Key): Quantized {
  const read = readRule("quantize", rule);
  if (x.dtype !== "f32") throw dtypeMismatch(`quantize: x is ${x.dtype}, takes f32; cast it first`);
  // A scalar is one block along any axis.
  const rank = Math.max(1, x.shape.length);
  checks.integer(-rank, rank - 1)("quantize: axis", axis);
  const made = quantizeBlocks(x, read, axis < 0 ? axis + rank : axis, { key });
  const { codes, scale, tensorScale, blocks } = made;
  return {
    codes: blocks.join(codes),
    scale: blocks.scaleShape === undefined ? scale : reshape(scale, blocks.scaleShape),
    ...(tensorScale === undefined ? {} : { tensorScale }),
    values: valuesOf(made),
  };
}

/** The numbers that codes stand for, f32, in the shape of the quantized tensor. */
export const valuesOf = (made: Pick<QuantizedBlocks, "codes" | "decode" | "blocks">): Tensor =>
  made.blocks.join(mul(cast(made.codes, "f32"), made.decode));

/** Codes with a factor for each block, all in the layout of `blocks`. */
export interface QuantizedBlocks {
  readonly split: Tensor;
  /** `split` times the encoding factor, before it is saturated and rounded. */
  readonly scaled: Tensor;
  readonly codes: Tensor;
  /** The largest magnitude of each block. */
  readonly amax: Tensor;
  readonly scale: Tensor;
  readonly tensorScale?: Tensor;
  /** The factor that turns codes back into numbers: `scale`, times `tensorScale` if there is one. */
  readonly decode: Tensor;
  readonly blocks: Blocks;
}

/** Values that a quantization reads besides the tensor. */
export interface QuantizeContext {
  readonly key?: Key | undefined;
  /** The factor that x is multiplied by before it is rounded; by default it follows from x. */
  readonly encode?: Tensor | undefined;
}

/** Quantizes f32 x by a rule that has been read. */
export function quantizeBlocks(
  x: Tensor,
  rule: ReadRule,
  axis: number,
  { key, encode: given }: QuantizeContext = {},
): QuantizedBlocks {
  const { maxFinite, nearest, stochastic } = elementFormats[rule.format];
  const blocks = blocksOf(x.shape, rule, axis);
  const split = blocks.split(x);
  const found = blocks.reduce(abs(split));
  const amax = rule.epsilon === 0 ? found : maximum(found, rule.epsilon);
  const { encode, scale, tensorScale } =
    given === undefined ? scaleMakers[rule.scale.format](amax, rule) : givenScale(given, amax);
  const scaled = mul(split, encode);
  const placed = rule.saturate ? clip(scaled, { min: -maxFinite, max: maxFinite }) : scaled;
  const isNearest = rule.rounding === "nearest";
  if (!isNearest && key === undefined)
    throw invalid("quantize: stochastic rounding draws numbers: give it a key, such as key(42)");
  const codes = isNearest || key === undefined ? nearest(placed) : stochastic(placed, key);
  const decode = tensorScale === undefined ? scale : mul(scale, tensorScale);
  const factors = { scale, ...(tensorScale === undefined ? {} : { tensorScale }), decode };
  return { split, scaled, codes, amax: found, ...factors, blocks };
}
