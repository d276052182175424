// Squares32 (Widynski, arXiv 2004.06278) on u64, which wraps as required; a rotation by half a word is two shifts.
import { tensor } from "@mp/core";
import { type Lowering, type } from "../graph/tf-writer.js";
import { emitT, operandAt, reshape, sizeOf } from "./lowering.js";

export const randomBits: Lowering<"RandomBits"> = (node, operands, writer) => {
  const { key, shape } = node.attributes;
  const count = sizeOf(shape);
  const u64 = (value: bigint): string => writer.constant(tensor(BigUint64Array.of(value), [], "u64"));
  const on = (op: string, a: string, b: string): string => emitT(op, [a, b], "u64", writer);
  const keyName = u64(key);
  const half = u64(32n);
  const high = (a: string): string => on("RightShift", a, half);

  const drawn = writer.cast(operandAt(operands, 0), "i32", "u64");
  const counter = on("LeftShift", drawn, half);
  // The engine would compute a constant range in advance and keep it, eight bytes per element of every mask. It cannot
  // know that this is 0.
  const first = writer.cast(on("BitwiseAnd", counter, u64(0n)), "u64", "i64");
  const bounds = [first, ...[count, 1].map((number) => writer.scalar(number, "i64"))];
  const index = writer.cast(writer.one("Range", bounds, { Tidx: type("i64") }), "i64", "u64");
  const y = on("Mul", on("AddV2", index, counter), keyName);
  const z = on("AddV2", y, keyName);
  let x = y;
  for (const addend of [y, z, y]) {
    const square = on("AddV2", on("Mul", x, x), addend);
    x = on("BitwiseOr", high(square), on("LeftShift", square, half));
  }
  // Of 32 bits, which the cast keeps.
  const bits = writer.cast(high(on("AddV2", on("Mul", x, x), z)), "u64", "i32");
  return [reshape(bits, "i32", [count], shape, writer)];
};
