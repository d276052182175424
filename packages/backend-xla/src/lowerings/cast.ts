import { type DType, isFloat } from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import { dtypeOf, type Operand } from "../stablehlo/operand.js";

const isNarrow = (dtype: DType): boolean => isFloat(dtype) && dtype !== "f32";

/** What is larger is NaN in f8e4m3; the processor's conversion makes zeros of 496 and more. */
const LARGEST_TO_E4M3 = 464;

/** Integers of more bits than f32 has digits. */
const isWide = (dtype: DType): boolean => dtype === "i32" || dtype === "i64" || dtype === "u64";

/**
 * Rounds once, where XLA converts a wide integer to a narrow float, and one narrow float to another, through a format
 * between them. A float beyond an integer's range becomes its limit, and NaN 0, which Cast leaves open.
 */
export function cast(emitter: Emitter, x: Operand, to: DType): Operand {
  const from = dtypeOf(x);
  if (from === to) return x;
  if (isWide(from) && isNarrow(to)) return emitter.convert(integerToOdd(emitter, x), to);
  // f32 holds every number of the narrow formats and of u8.
  const exact = isNarrow(from) || (isNarrow(to) && !isFloat(from)) ? emitter.convert(x, "f32") : x;
  if (to === "bool") return emitter.compare("NE", exact, 0);
  if (to !== "f8e4m3") return emitter.convert(exact, to);
  const isInRange = emitter.compare("LE", emitter.unary("abs", exact), LARGEST_TO_E4M3);
  return emitter.convert(emitter.select(isInRange, exact, Number.NaN), to);
}

/**
 * The integer as f32, rounded to odd (Boldo and Melquiond): if it is inexact, the last bit is set, so that it never
 * looks like a tie of a narrower format.
 */
function integerToOdd(emitter: Emitter, x: Operand): Operand {
  const near = emitter.convert(x, "f32");
  // XLA converts back with saturation: a power of two just beyond the type counts as the largest integer.
  const back = emitter.convert(near, dtypeOf(x));
  const bits = emitter.bitcast(near, "i32");
  const isExact = emitter.compare("EQ", back, x);
  const isOdd = emitter.compare("EQ", emitter.binary("and", bits, 1), 1);
  const isNegative = emitter.compare("LT", bits, 0);
  // The bits of a smaller magnitude are smaller, of both signs.
  const isTooFar = emitter.compare(
    "EQ",
    emitter.compare("GT", back, x),
    emitter.compare("EQ", isNegative, 0),
  );
  const step = emitter.select(isTooFar, emitter.like(bits, -1), 1);
  const other = emitter.bitcast(emitter.binary("add", bits, step), "f32");
  return emitter.select(emitter.binary("or", isExact, isOdd), near, other);
}
