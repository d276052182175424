import { oneOf } from "../../argument-checks.js";
import { floatFormats } from "../../dtype.js";
import { add, div, equal, less, maximum, mul, sub, where } from "../ops/binary.js";
import { literal } from "../ops/source.js";
import { abs, cast, sign } from "../ops/unary.js";
import type { Tensor } from "../tensor.js";
import { asDraw } from "../trace.js";
import { type Key, randomUniform } from "./random.js";

/**
 * Rounds x (f32) to the dtype, up or down with the probability that makes the expected value exact. It uses arithmetic
 * only, so it runs on every engine. Let r be x rounded to nearest and p the dtype's number of significant bits. The
 * neighbor of r on x's side is r ± 1.25 · 2^-p · |r| rounded to nearest; it is chosen with probability |x - r| /
 * |neighbor - r|. Infinities and NaN do not change. Subnormals of bf16, which are as small as those of f32, are
 * rounded to nearest.
 */
export function stochasticallyRounded(
  x: Tensor,
  key: Key,
  dtype: "bf16" | "f16" | "f8e4m3" | "f8e5m2" = "bf16",
): Tensor {
  oneOf("bf16", "f16", "f8e4m3", "f8e5m2")("stochasticallyRounded: the dtype", dtype);
  return asDraw(() => roundedAtRandom(x, key, dtype));
}

function roundedAtRandom(x: Tensor, key: Key, dtype: "bf16" | "f16" | "f8e4m3" | "f8e5m2"): Tensor {
  const { fractionBits, minSubnormal } = floatFormats[dtype];
  const nearest = cast(cast(x, dtype), "f32");
  const rest = sub(x, nearest);
  const size = abs(nearest);
  const share = 1.25 * 2 ** -(fractionBits + 1);
  const reach =
    dtype === "bf16"
      ? mul(mul(sign(rest), size), share)
      : mul(sign(rest), maximum(mul(size, share), 0.75 * minSubnormal));
  const neighbor = cast(cast(add(nearest, reach), dtype), "f32");
  const gap = sub(neighbor, nearest);
  const probability = div(rest, where(equal(gap, 0), literal(1), gap));
  return cast(where(less(randomUniform(key, x.shape), probability), neighbor, nearest), dtype);
}
