import { isTensor, type Key, type Shape, type Tensor } from "@mp/graph";
import { invalid } from "@mp/graph/internal";
import { abs, cast, clip, maximum, mul, pad, reduceMax, reshape, slice } from "@mp/graph/ops";
import { elementFormats } from "./element-format.js";
import { granularities, type QuantizationRule, type ReadRule, readRule } from "./rule.js";
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
 * @param axis the inner axis of x, over which a product sums
 * @param key the stream of random numbers for stochastic rounding
 * @throws MP_INVALID_ARGUMENT for a rule with unknown or unfit options
 */
export function quantize(x: Tensor, rule: QuantizationRule, axis: number, key?: Key): Quantized {
  const made = quantizeBlocks(x, readRule("quantize", rule), axis, { key });
  const { codes, scale, tensorScale, blocks } = made;
  return {
    codes: blocks.join(codes),
    scale: blocks.scaleShape === undefined ? scale : reshape(scale, blocks.scaleShape),
    ...(tensorScale === undefined ? {} : { tensorScale }),
    values: valuesOf(made),
  };
}

/** The numbers that codes stand for, f32, in the shape of the quantized tensor. */
export const valuesOf = ({
  codes,
  factor,
  blocks,
}: Pick<QuantizedBlocks, "codes" | "factor" | "blocks">): Tensor =>
  blocks.join(mul(cast(codes, "f32"), factor));

/** Codes with a factor for each block, both in the layout of `blocks`. */
export interface QuantizedBlocks {
  readonly codes: Tensor;
  /** The largest magnitude of each block. */
  readonly amax: Tensor;
  readonly scale: Tensor;
  readonly tensorScale?: Tensor;
  readonly factor: Tensor;
  readonly blocks: Blocks;
}

/** What a quantization depends on besides tensor and rule. */
export interface QuantizeContext {
  readonly key?: Key | undefined;
  /** The factor before rounding; by default it follows from the tensor. */
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
  if (rule.rounding === "stochastic" && !isKey(key))
    throw invalid("quantize: stochastic rounding draws numbers: give it a key, such as key(42)");
  const codes =
    key !== undefined && rule.rounding === "stochastic" ? stochastic(placed, key) : nearest(placed);
  const factor = tensorScale === undefined ? scale : mul(scale, tensorScale);
  return { codes, amax: found, scale, ...(tensorScale === undefined ? {} : { tensorScale }), factor, blocks };
}

const isKey = (key: unknown): boolean => key !== undefined && !isTensor(key);

/** How a tensor of some shape divides into blocks. */
export interface Blocks {
  /** Pads with zeros and splits axes, so that each block is a range of whole axes. */
  split(x: Tensor): Tensor;
  /** The largest number of each block, with size 1 along the axes of a block; a scalar for one block. */
  reduce(magnitudes: Tensor): Tensor;
  /** Undoes `split`. */
  join(x: Tensor): Tensor;
  /** The shape of scales with one axis for each axis of the tensor; undefined if they have it. */
  readonly scaleShape: Shape | undefined;
}

function blocksOf(shape: Shape, { granularity }: Pick<ReadRule, "granularity">, inner: number): Blocks {
  const [across, along] = granularities[granularity];
  const matrix = inner === shape.length - 1 ? shape.length - 2 : shape.length - 1;
  const padded: number[] = [];
  const parts: number[] = [];
  const axes: number[] = [];
  const lengths: number[] = [];
  for (const [axis, size] of shape.entries()) {
    const length = axis === inner ? along : axis === matrix || granularity === "tensor" ? across : 1;
    const isSplit = length > 1 && length < size;
    lengths.push(length);
    padded.push(isSplit ? Math.ceil(size / length) * length : size);
    if (isSplit) parts.push(Math.ceil(size / length));
    if (length > 1) axes.push(parts.length);
    parts.push(isSplit ? length : size);
  }
  const isWhole = axes.length === parts.length;
  const isPadded = padded.some((size, axis) => size !== shape[axis]);
  const isSplit = parts.length > shape.length;
  const counts = padded.map((size, axis) => Math.ceil(size / (lengths[axis] as number)));
  return {
    split: (x) => {
      const whole = isPadded
        ? pad(
            x,
            padded.map((size, axis) => [0, size - (shape[axis] as number)]),
          )
        : x;
      return isSplit ? reshape(whole, parts) : whole;
    },
    reduce: (magnitudes) =>
      isWhole
        ? reduceMax(magnitudes)
        : axes.length === 0
          ? magnitudes
          : reduceMax(magnitudes, { axes, keepdims: true }),
    scaleShape: isSplit ? counts : undefined,
    join: (x) => {
      const joined = isSplit ? reshape(x, padded) : x;
      return isPadded
        ? slice(
            joined,
            shape.map((end, axis) => ({ axis, end })),
          )
        : joined;
    },
  };
}
