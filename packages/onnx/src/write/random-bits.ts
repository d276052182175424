// Squares32 (Widynski, arXiv 2004.06278) in ONNX. No engine has bit operators everywhere, but all multiply, add and
// divide u64. With these, a rotation by half a word is x / 2^32 + x · 2^32 (the product wraps).
import { elementCount, type HostTensor, tensor } from "@mp/graph";
import { type Lowering, operandAt } from "./lowering.js";
import { reshape } from "./movement.js";

const u64 = (value: bigint): HostTensor => tensor(BigUint64Array.of(value), [], "u64");

export const decomposeRandomBits: Lowering<"RandomBits"> = (node, operands, writer) => {
  const { key, shape } = node.attributes;
  const count = elementCount(shape, "RandomBits");
  const keyName = writer.initializer(u64(key));
  const word = writer.initializer(u64(2n ** 32n));
  const add = (a: string, b: string): string => writer.one("Add", [a, b]);
  const mul = (a: string, b: string): string => writer.one("Mul", [a, b]);
  const high = (a: string): string => writer.one("Div", [a, word]);

  // ONNX's Range has no u64.
  const steps = [0, count, 1].map((number) => writer.scalar(number, "i64"));
  const index = writer.cast(writer.one("Range", steps), "u64");
  const counter = mul(writer.cast(operandAt(operands, 0), "u64"), word);
  const y = mul(add(index, counter), keyName);
  const z = add(y, keyName);
  let x = y;
  for (const addend of [y, z, y]) {
    const square = add(mul(x, x), addend);
    x = add(high(square), mul(square, word));
  }
  // The high word has 32 bits, which the cast keeps.
  const bits = writer.cast(high(add(mul(x, x), z)), "i32");
  return [shape.length === 1 ? bits : reshape(bits, shape, writer)];
};
