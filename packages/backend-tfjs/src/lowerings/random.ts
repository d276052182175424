// Squares32 (Widynski, arXiv 2004.06278) on u64, which wraps as required; a rotation by half a word is two shifts.
import { tensor } from "@mp/graph";
import { type } from "../graph/attributes.js";
import type { Term } from "../graph/term.js";
import { count, type Lowering } from "./lowering.js";

export const randomBits: Lowering<"RandomBits"> = (node, [given], writer) => {
  const { key, shape } = node.attributes;
  const size = count(shape);
  const u64 = (value: bigint): Term => writer.constant(tensor(BigUint64Array.of(value), [], "u64"));
  const keyTerm = u64(key);
  const half = u64(32n);
  const high = (a: Term): Term => a.op("RightShift", half);

  const counter = given.cast("u64").op("LeftShift", half);
  // The engine would compute a constant range in advance and keep it, eight bytes per element of every mask.
  // It does not see that this term is 0.
  const first = counter.op("BitwiseAnd", u64(0n)).cast("i64");
  const bounds = [first, ...[size, 1].map((number) => writer.scalar(number, "i64"))];
  const line = { dtype: "i64", shape: [size] } as const;
  const index = writer.term("Range", bounds, { Tidx: type("i64") }, line).cast("u64");
  const y = index.add(counter).mul(keyTerm);
  const z = y.add(keyTerm);
  let x = y;
  for (const addend of [y, z, y]) {
    const square = x.mul(x).add(addend);
    x = high(square).op("BitwiseOr", square.op("LeftShift", half));
  }
  // The high word has 32 bits, which the cast keeps.
  const bits = high(x.mul(x).add(z)).cast("i32");
  return [bits.reshape(shape)];
};
