/**
 * Casts integers to bf16. The engine casts through f32, which rounds integers of more than 24 bits twice; on some
 * processors it also casts 64-bit integers to f32 through f64.
 */
import type { DType } from "@mp/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import { at, type OwnLowering, operandType } from "./own-lowering.js";
import type { Target } from "./target.js";

interface Stage {
  /** Smallest magnitude that is shortened, as an exponent of 2. */
  readonly from: number;
  /** Number of low bits that are replaced by one sticky bit. */
  readonly bits: number;
}

/**
 * Stages that shorten an integer before its cast to bf16. A magnitude below 2^(from + 15) keeps `from + 15 - bits` bits
 * and a sticky bit. These are at most 24 bits, as many as f32 holds, so the cast to f32 is exact. The sticky bit is
 * below the ties of bf16, so only the cast to bf16 rounds. Once a stage has applied, later stages change nothing.
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

/** Rounds large magnitudes to odd. A sticky bit tells whether any of the dropped bits was set. */
function compress(x: string, dtype: DType, { from, bits }: Stage, writer: NodeWriter): string {
  const number = (value: number): string => writer.scalar(value, dtype);
  const rest = writer.one("Mod", [x, number(2 ** bits)], { fmod: int(0) });
  const isAny = writer.cast(writer.cast(rest, "bool"), dtype);
  const lost = writer.one("Sub", [rest, writer.one("Mul", [isAny, number(2 ** (bits - 1))])]);
  // The lowest integer has no magnitude in its dtype. It stays as it is, because f32 holds it.
  const magnitude = dtype === "u64" ? x : writer.one("Abs", [x]);
  const isLarge = writer.cast(writer.one("GreaterOrEqual", [magnitude, number(2 ** from)]), dtype);
  return writer.one("Sub", [x, writer.one("Mul", [isLarge, lost])]);
}

/** Stages that leave 52 bits and a sticky bit, so that the cast to f64 is exact. */
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
