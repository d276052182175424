/** Scales of blocks, from the largest magnitude in each. */
import { floatFormats, type Tensor } from "@mp/graph";
import {
  add,
  cast,
  clip,
  div,
  equal,
  maximum,
  minimum,
  mul,
  reciprocal,
  reduceMax,
  where,
} from "@mp/graph/ops";
import { elementFormats } from "./element-format.js";
import { ceilPowerOfTwo, floorPowerOfTwo } from "./power-of-two.js";
import type { ReadRule, SCALE_FORMATS, ScaleRule } from "./rule.js";

/** The factors of each block, f32, in a shape that broadcasts to the blocks. */
export interface Scales {
  /** The factor that numbers are multiplied by before they are rounded to the format. */
  readonly encode: Tensor;
  /** The factor that turns codes back into numbers; NaN or infinite if the block has numbers that are not finite. */
  readonly scale: Tensor;
  /** The scale of the whole tensor, by which `scale` was divided; only for `f8e4m3`. */
  readonly tensorScale?: Tensor;
}

type ScaleMaker = (amax: Tensor, rule: ReadRule) => Scales;

/** From this amax on, the scales of every format and their reciprocals are normal numbers of f32. */
const SAFE_AMAX = 2 ** -100;
const { maxFinite: largest } = floatFormats.f32;

/** Makes the factor 1 for blocks of zeros, and finite. A large enough `epsilon` has done both, and keeps the factor. */
const unlessZero = (amax: Tensor, { epsilon }: ReadRule, factor: Tensor): Tensor =>
  epsilon >= SAFE_AMAX ? factor : where(equal(amax, 0), 1, minimum(factor, largest));

function f32Scales(amax: Tensor, rule: ReadRule): Scales {
  const quotient = div(elementFormats[rule.format].maxFinite * 2 ** -rule.margin, amax);
  const exact = unlessZero(amax, rule, quotient);
  const encode = rule.scale.powerOfTwo ? floorPowerOfTwo(exact) : exact;
  return { encode, scale: reciprocal(encode) };
}

/** The power of two above amax may be 2^128, which f32 does not have: `even` and `ceil` find that of amax / 2. */
const e8m0Roundings: Readonly<
  Record<NonNullable<ScaleRule["rounding"]>, (amax: Tensor, format: ReadRule["format"]) => Tensor>
> = {
  floor: (amax, format) => mul(floorPowerOfTwo(amax), 2 ** -elementFormats[format].maxExponent),
  even: (amax, format) => {
    const { fractionBits, maxExponent } = elementFormats[format];
    const half = mul(amax, 0.5);
    const halfStep = mul(floorPowerOfTwo(half), 2 ** -(fractionBits + 1));
    return mul(floorPowerOfTwo(add(half, halfStep)), 2 ** (1 - maxExponent));
  },
  ceil: (amax, format) => mul(ceilPowerOfTwo(mul(amax, 0.5)), 2 ** (1 - elementFormats[format].maxExponent)),
  rceil: (amax, format) => ceilPowerOfTwo(div(amax, elementFormats[format].maxFinite)),
};

function e8m0Scales(amax: Tensor, rule: ReadRule): Scales {
  const { rounding } = rule.scale;
  const exact = e8m0Roundings[rounding](rule.margin === 0 ? amax : mul(amax, 2 ** rule.margin), rule.format);
  if (rule.epsilon >= SAFE_AMAX) return { encode: reciprocal(exact), scale: exact };
  // The format ends at 2^-127, whose reciprocal is finite even where an engine takes 2^-127 for 0.
  return {
    encode: minimum(reciprocal(exact), 2 ** 127),
    scale: where(equal(amax, 0), 1, maximum(exact, 2 ** -127)),
  };
}

function f8e4m3Scales(amax: Tensor, rule: ReadRule): Scales {
  const most = elementFormats[rule.format].maxFinite * 2 ** -rule.margin;
  const { maxFinite } = elementFormats.f8e4m3;
  const whole = reduceMax(amax);
  const encodeTensor = unlessZero(whole, rule, div(maxFinite * most, whole));
  const tensorScale = reciprocal(encodeTensor);
  const quotient = clip(mul(amax, mul(encodeTensor, Math.fround(1 / most))), { max: maxFinite });
  const scale = cast(cast(quotient, "f8e4m3"), "f32");
  const encode = minimum(reciprocal(mul(scale, tensorScale)), largest);
  return { encode, scale, tensorScale };
}

/** Scales by a factor that was known before; saturation must not hide a number that is not finite. */
export const givenScale = (encode: Tensor, amax: Tensor): Scales => ({
  encode,
  scale: add(reciprocal(encode), mul(amax, 0)),
});

export const scaleMakers: Readonly<Record<(typeof SCALE_FORMATS)[number], ScaleMaker>> = {
  f32: f32Scales,
  e8m0: e8m0Scales,
  f8e4m3: f8e4m3Scales,
};
