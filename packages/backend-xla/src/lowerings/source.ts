import { type OpOf, uncountableRange } from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import { count, type Operand } from "../stablehlo/operand.js";
import { type Lowering, type LoweringTable, resultType } from "./lowering.js";

/** Computes a range on the device if every engine would give the same values; other ranges become constants. */
const rangeOf: Lowering<"Range"> = (emitter, node) => {
  const values = uncountableRange(node);
  if (values !== undefined) return [emitter.constant(values)];
  const { start, delta, dtype } = node.attributes;
  const steps = emitter.binary("multiply", emitter.iota(dtype, resultType(node).shape, 0), delta);
  return [emitter.binary("add", steps, start)];
};

/** Squares32 (Widynski, arXiv 2004.06278) on u64, which wraps as required; a rotation by half a word is two shifts. */
const randomBits: Lowering<"RandomBits"> = (emitter, node, [drawn]) => {
  const { key, shape } = node.attributes;
  const line = [count(shape)];
  const high = (x: Operand): Operand => emitter.binary("shift_right_logical", x, 32);
  const raised = (x: Operand): Operand => emitter.binary("shift_left", x, 32);
  const squared = (x: Operand, addend: Operand): Operand =>
    emitter.binary("add", emitter.binary("multiply", x, x), addend);

  const counter = emitter.expand(raised(emitter.convert(drawn, "u64")), line);
  const y = emitter.binary("multiply", emitter.binary("add", counter, emitter.iota("u64", line, 0)), key);
  const z = emitter.binary("add", y, key);
  let x = y;
  for (const addend of [y, z, y]) {
    const square = squared(x, addend);
    x = emitter.binary("or", high(square), raised(square));
  }
  // The value has 32 bits, which the conversion keeps.
  return [emitter.reshape(emitter.convert(high(squared(x, z)), "i32"), shape)];
};

const barrier: Lowering<"Barrier"> = (emitter: Emitter, _, operands) =>
  emitter.barrier(...operands).slice(0, 1);

export const sourceLowerings: LoweringTable<OpOf<"source">> = {
  Constant: (emitter, { attributes }) => [emitter.constant(attributes.value)],
  Range: rangeOf,
  RandomBits: randomBits,
  Barrier: barrier,
};
