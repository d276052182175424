/**
 * Casts of integers to bf16: the engine casts through f32, which rounds an integer of more than 24 bits twice. On some
 * processors it also casts 64-bit integers to f32 through f64.
 */
import type { DType } from "@mp/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import { at, type OwnLowering, operandType } from "./own-lowering.js";
import type { Target } from "./target.js";

interface Stage {
  /** Magnitudes from 2^from on lose their last bits… */
  readonly from: number;
  /** …of which there are this many. */
  readonly bits: number;
}

/**
 * A magnitude below 2^(from + 15) keeps `from + 15 - bits` bits, and one bit that stands for all lost ones: together at most
 * the 24 that f32 holds. The lost bits are below a tie of bf16, which has 8 bits. So the cast to f32 is exact, and only the
 * cast to bf16 rounds. A later stage changes nothing where an earlier one has applied.
 */
const STAGES: Readonly<Partial<Record<DType, readonly Stage[]>>> = {
  i32: [{ from: 16, bits: 8 }],
  i64: [
    { from: 48, bits: 40 },
    { from: 33, bits: 25 },
    { from: 18, bits: 10 },
  ],
  u64: [
    { from: 49, bits: 41 },
    { from: 34, bits: 26 },
    { from: 19, bits: 11 },
  ],
};

/** Rounded to odd: the last bits of large magnitudes become one bit that says whether any of them was set. */
function compress(x: string, dtype: DType, { from, bits }: Stage, writer: NodeWriter): string {
  const number = (value: number): string => writer.scalar(value, dtype);
  const rest = writer.one("Mod", [x, number(2 ** bits)], { fmod: int(0) });
  const isAny = writer.cast(writer.cast(rest, "bool"), dtype);
  const lost = writer.one("Sub", [rest, writer.one("Mul", [isAny, number(2 ** (bits - 1))])]);
  // The lowest integer has no magnitude and is left as it is: f32 holds it.
  const magnitude = dtype === "u64" ? x : writer.one("Abs", [x]);
  const isLarge = writer.cast(writer.one("GreaterOrEqual", [magnitude, number(2 ** from)]), dtype);
  return writer.one("Sub", [x, writer.one("Mul", [isLarge, lost])]);
}

/** Stages after which 53 bits remain, the last of which represents all that are lost: the cast to f64 is exact. */
const TO_DOUBLE: Readonly<Partial<Record<DType, readonly Stage[]>>> = {
  i64: [{ from: 53, bits: 11 }],
  u64: [{ from: 53, bits: 12 }],
};

export const integerCast =
  ({ castsThroughDoubles }: Pick<Target, "castsThroughDoubles">): OwnLowering<"Cast"> =>
  (node, operands, writer, standard) => {
    const { dtype } = operandType(node);
    const { to } = node.attributes;
    const toF32 = castsThroughDoubles ? TO_DOUBLE[dtype] : undefined;
    const stages = to === "bf16" ? STAGES[dtype] : to === "f32" ? toF32 : undefined;
    if (stages === undefined) return undefined;
    return standard([stages.reduce((x, stage) => compress(x, dtype, stage, writer), at(operands, 0))]);
  };
