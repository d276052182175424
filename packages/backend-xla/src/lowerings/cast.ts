import { type DType, isFloat } from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import { dtypeOf, type Operand } from "../stablehlo/operand.js";

const isNarrow = (dtype: DType): boolean => isFloat(dtype) && dtype !== "f32";

/** The largest number that rounds to a finite f8e4m3; larger ones become NaN. XLA on CPUs makes 0 of 496 and more. */
const LARGEST_TO_E4M3 = 464;

/** Whether an integer dtype has values that f32 cannot hold exactly. */
const isWide = (dtype: DType): boolean => dtype === "i32" || dtype === "i64" || dtype === "u64";

/**
 * Casts with a single rounding. XLA converts wide integers to narrow floats, and narrow floats to each other,
 * through an intermediate format, which rounds twice. A float beyond an integer dtype's range becomes the
 * nearest limit and NaN becomes 0; the operator Cast leaves both cases open.
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
 * Converts an integer to f32 rounded to odd (Boldo and Melquiond): if the f32 is inexact, its last bit is
 * set, so that it is never a tie of a narrower format.
 */
function integerToOdd(emitter: Emitter, x: Operand): Operand {
  const near = emitter.convert(x, "f32");
  // XLA converts back with saturation: a power of two just beyond the type counts as the largest integer.
  const back = emitter.convert(near, dtypeOf(x));
  const bits = emitter.bitcast(near, "i32");
  const isExact = emitter.compare("EQ", back, x);
  const isOdd = emitter.compare("EQ", emitter.binary("and", bits, 1), 1);
  const isNegative = emitter.compare("LT", bits, 0);
  // For either sign, a smaller magnitude has smaller bits.
  const isTooFar = emitter.compare(
    "EQ",
    emitter.compare("GT", back, x),
    emitter.compare("EQ", isNegative, 0),
  );
  const step = emitter.select(isTooFar, emitter.like(bits, -1), 1);
  const other = emitter.bitcast(emitter.binary("add", bits, step), "f32");
  return emitter.select(emitter.binary("or", isExact, isOdd), near, other);
}
