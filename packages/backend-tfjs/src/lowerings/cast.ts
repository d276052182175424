import type { DType } from "@mp/core";
import { isFloat } from "@mp/core/graph";
import { type Lowering, type LoweringTable, type TfDType, type TfWriter, type } from "../graph/tf-writer.js";
import { emitT, operandAt, typeAt } from "./lowering.js";

type Wide = "i32" | "i64" | "u64";

const isWide = (dtype: DType): dtype is Wide => dtype === "i32" || dtype === "i64" || dtype === "u64";

/** Beyond the range in which f16 rounds to a finite number, so all of these are infinite. */
const BEYOND_F16 = 2 ** 17;

/** The engine casts to halves through f32, and rounds twice. Between these bounds f32 holds every integer exactly. */
function integerToF16(x: string, from: Wide, writer: TfWriter): string {
  const below = emitT("Minimum", [x, writer.scalar(BEYOND_F16, from)], from, writer);
  const bounded =
    from === "u64" ? below : emitT("Maximum", [below, writer.scalar(-BEYOND_F16, from)], from, writer);
  return writer.cast(writer.cast(bounded, from, "f32"), "f32", "f16");
}

/**
 * As `integerToF16` for bf16, which has the range of f32. The intermediate f32 is rounded to odd (Boldo and Melquiond):
 * unless exact, it is the neighbor whose last bit is set, and so never looks like a tie of the narrower format.
 */
function integerToBf16(x: string, from: Wide, writer: TfWriter): string {
  const near = writer.cast(x, from, "f32");
  const missed = emitT("Sub", [x, writer.cast(near, "f32", from)], from, writer);
  const zero = writer.scalar(0, from);
  // A negative difference of u64 wraps to a value larger than any rounding error.
  const isBelow =
    from === "u64"
      ? emitT("Less", [missed, writer.scalar(2 ** 62, from)], from, writer)
      : emitT(
          "Equal",
          [emitT("Greater", [missed, zero], from, writer), emitT("Greater", [x, zero], from, writer)],
          "bool",
          writer,
        );
  const bits = bitcast(near, "f32", "i32", writer);
  const one = writer.scalar(1, "i32");
  const other = emitT(
    "AddV2",
    [bits, emitT("SelectV2", [isBelow, one, writer.scalar(-1, "i32")], "i32", writer)],
    "i32",
    writer,
  );
  const isExact = emitT("Equal", [missed, zero], from, writer);
  const isOdd = emitT("Equal", [emitT("BitwiseAnd", [bits, one], "i32", writer), one], "i32", writer);
  const stays = writer.one("LogicalOr", [isExact, isOdd]);
  const odd = emitT("SelectV2", [stays, bits, other], "i32", writer);
  return writer.cast(bitcast(odd, "i32", "f32", writer), "f32", "bf16");
}

function bitcast(x: string, from: TfDType, to: TfDType, writer: TfWriter): string {
  return writer.one("Bitcast", [x], { T: type(from), type: type(to) });
}

const cast: Lowering<"Cast"> = (node, operands, writer) => {
  const { to } = node.attributes;
  const { dtype: from } = typeAt(node, 0);
  const x = operandAt(operands, 0);
  if (from === to) return [x];
  if (isWide(from) && to === "f16") return [integerToF16(x, from, writer)];
  if (isWide(from) && to === "bf16") return [integerToBf16(x, from, writer)];
  const narrow = (dtype: DType): boolean => isFloat(dtype) && dtype !== "f32";
  // The engine has few kernels between two narrow formats; f32 holds the values of all of them.
  if (narrow(from) && narrow(to)) return [writer.cast(writer.cast(x, from, "f32"), "f32", to)];
  return [writer.cast(x, from, to)];
};

export const castLowerings: LoweringTable<"Cast"> = { Cast: cast };
