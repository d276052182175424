import { type DType, isFloat } from "@mp/graph";
import type { Term } from "../graph/term.js";
import type { Lowering } from "./lowering.js";

const isWide = (dtype: DType): boolean => dtype === "i32" || dtype === "i64" || dtype === "u64";

/** A bound far above f16's largest number; larger magnitudes become infinite. */
const BEYOND_F16 = 2 ** 17;

/** Clamps an integer so that f32 holds it exactly, because the engine casts through f32 and might round twice. */
function integerToF16(x: Term): Term {
  const below = x.op("Minimum", BEYOND_F16);
  const bounded = x.dtype === "u64" ? below : below.op("Maximum", -BEYOND_F16);
  return bounded.cast("f32").cast("f16");
}

/**
 * Casts an integer to bf16, which has the range of f32, through f32 rounded to odd (Boldo and Melquiond): if
 * the f32 is inexact, its last bit is set, so that it is never a tie of bf16.
 */
function integerToBf16(x: Term): Term {
  const { dtype, writer } = x;
  const near = x.cast("f32");
  const missed = x.sub(near.cast(dtype));
  const zero = writer.scalar(0, dtype);
  // A negative difference of u64 wraps to a value larger than any rounding error.
  const isBelow =
    dtype === "u64"
      ? missed.op("Less", 2 ** 62)
      : missed.op("Greater", zero).op("Equal", x.op("Greater", zero));
  const bits = near.bitcast("i32");
  const one = writer.scalar(1, "i32");
  const other = bits.add(isBelow.select(one, -1));
  const isExact = missed.op("Equal", zero);
  const isOdd = bits.op("BitwiseAnd", one).op("Equal", one);
  const stays = writer.term("LogicalOr", [isExact, isOdd], {}, isOdd);
  return stays.select(bits, other).bitcast("f32").cast("bf16");
}

export const cast: Lowering<"Cast"> = (node, [x]) => {
  const { to } = node.attributes;
  if (isWide(x.dtype) && to === "f16") return [integerToF16(x)];
  if (isWide(x.dtype) && to === "bf16") return [integerToBf16(x)];
  const isNarrow = (dtype: DType): boolean => isFloat(dtype) && dtype !== "f32";
  // The engine has few kernels between two narrow formats; f32 holds the values of all narrow formats.
  const isBetweenNarrow = x.dtype !== to && isNarrow(x.dtype) && isNarrow(to);
  return [isBetweenNarrow ? x.cast("f32").cast(to) : x.cast(to)];
};
