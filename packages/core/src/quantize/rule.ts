/** Rules for quantizing a tensor: the names and defaults of all options. */
import {
  type Check,
  checks,
  invalid,
  type OptionTable,
  type OptionValues,
  readOptions,
  withDefault,
} from "@mp/graph/internal";
import { ELEMENT_FORMATS, type ElementFormat } from "./element-format.js";

const whole: number = Number.POSITIVE_INFINITY;

/** The numbers of elements that share a scale, along the outer and the inner axis of a matrix. */
export const granularities: Readonly<Record<Granularity, readonly [outer: number, inner: number]>> = {
  tensor: [whole, whole],
  row: [1, whole],
  "1x16": [1, 16],
  "16x16": [16, 16],
  "1x32": [1, 32],
  "1x128": [1, 128],
  "128x128": [128, 128],
};

/**
 * Elements that share a scale: the whole `tensor`, a `row` (all elements along the inner axis, over which the product
 * sums), or a block of so many elements along the outer and the inner axis. A last block may be shorter.
 */
export type Granularity = "tensor" | "row" | "1x16" | "16x16" | "1x32" | "1x128" | "128x128";

export const SCALE_FORMATS = ["f32", "e8m0", "f8e4m3"] as const;

export interface ScaleRule {
  /**
   * `f32` (default): the largest magnitude becomes the format's largest number. `e8m0`: a power of two, as in OCP's MX
   * formats. `f8e4m3`: an 8-bit scale by block under an f32 scale of the tensor, as in NVFP4.
   */
  readonly format?: (typeof SCALE_FORMATS)[number];
  /**
   * Rounding by which an `e8m0` scale follows from the largest magnitude; the names are torchao's. `floor` (default,
   * OCP's): its exponent, so that numbers above the format's largest are saturated. `even`: the exponent after
   * rounding to the format. `ceil`: its exponent, rounded up. `rceil`: the smallest power of two that saturates nothing.
   */
  readonly rounding?: "floor" | "even" | "ceil" | "rceil";
  /** Whether an `f32` scale is a power of two, such that no number is saturated. Default false. */
  readonly powerOfTwo?: boolean;
}

export interface QuantizationRule {
  readonly format: ElementFormat;
  /** Default `tensor`. */
  readonly granularity?: Granularity;
  /** Default `{ format: "f32" }`. */
  readonly scale?: ScaleRule;
  /** Whether numbers beyond the range become the largest number; otherwise as `cast`. Default true. */
  readonly saturate?: boolean;
  /** `nearest` (default), ties to even, or `stochastic`, with random numbers of the step. */
  readonly rounding?: "nearest" | "stochastic";
  /** Powers of two that stay free above the largest magnitude; default 0. */
  readonly margin?: number;
  /** Lower bound of the largest magnitude that the scale is made for. Default 0: a block of zeros has scale 1. */
  readonly epsilon?: number;
}

/** A rule with all defaults filled in. */
export type ReadRule = Required<Omit<QuantizationRule, "scale">> & { readonly scale: Required<ScaleRule> };

const SCALE = {
  format: withDefault("f32", checks.oneOf(...SCALE_FORMATS)),
  rounding: withDefault("floor", checks.oneOf("floor", "even", "ceil", "rceil")),
  powerOfTwo: withDefault(false, checks.truth),
} satisfies OptionTable<ScaleRule>;

export const epsilonCheck: Check = checks.claim(
  "a number ≥ 0 in f32's range",
  (value) => typeof value === "number" && value >= 0 && Number.isFinite(Math.fround(value)),
);

const RULE = {
  format: checks.oneOf(...ELEMENT_FORMATS),
  granularity: withDefault("tensor", checks.oneOf(...Object.keys(granularities))),
  scale: withDefault({}, checks.object),
  saturate: withDefault(true, checks.truth),
  rounding: withDefault("nearest", checks.oneOf("nearest", "stochastic")),
  margin: withDefault(0, checks.integer(0, 64)),
  epsilon: withDefault(0, epsilonCheck),
} satisfies OptionTable<QuantizationRule>;

/** Checks a rule and fills in the defaults. @throws MP_INVALID_ARGUMENT for options that do not fit together */
export function readRule(what: string, rule: QuantizationRule): ReadRule {
  const read: OptionValues<QuantizationRule, typeof RULE> = readOptions(what, rule, RULE, {
    example: '{ format: "f8e4m3" }',
  });
  const scale = readOptions(`${what}: scale`, read.scale, SCALE, { example: '{ format: "e8m0" }' });
  const refuse = (problem: string): never => {
    throw invalid(`${what}: ${problem}`);
  };
  if (!read.saturate && read.format === "e2m1")
    refuse("saturate must be true for e2m1, which has no infinity and no NaN");
  if (scale.rounding !== "floor" && scale.format !== "e8m0")
    refuse(`scale.rounding is for e8m0 scales; leave it out for ${scale.format}`);
  if (scale.powerOfTwo && scale.format !== "f32")
    refuse(`scale.powerOfTwo is for f32 scales; leave it out for ${scale.format}`);
  return { ...read, scale };
}

/** A rule in words: `f8e4m3 by tensor`, `e2m1 by 1x16 with f8e4m3 scales, stochastic`. */
export function formatRule({ format, granularity, scale, rounding }: ReadRule): string {
  const scales = scale.format === "f32" ? "" : ` with ${scale.format} scales`;
  return `${format} by ${granularity}${scales}${rounding === "nearest" ? "" : `, ${rounding}`}`;
}
