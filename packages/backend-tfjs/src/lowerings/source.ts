import { type OpOf, uncountableRange } from "@mp/core/graph";
import { type Lowering, type LoweringTable, type } from "../graph/tf-writer.js";
import { operandAt, resultAt } from "./lowering.js";
import { randomBits } from "./random.js";
import { noteZero } from "./zeros.js";

const range: Lowering<"Range"> = (node, _, writer) => {
  const values = uncountableRange(node);
  if (values !== undefined) return [writer.constant(values)];
  const { start, limit, delta, dtype } = node.attributes;
  const bounds = [start, limit, delta].map((number) => writer.scalar(number, dtype));
  // The engine requires a limit on the side that the step leads to.
  if (resultAt(node).shape[0] === 0) bounds.splice(1, 1, writer.scalar(start, dtype));
  return writer.emit("Range", bounds, { Tidx: type(dtype) });
};

const constant: Lowering<"Constant"> = (node, _, writer) => {
  const { value } = node.attributes;
  const name = writer.constant(value);
  const bytes = new Uint8Array(value.data.buffer, value.data.byteOffset, value.data.byteLength);
  if (bytes.every((byte) => byte === 0)) noteZero(name, writer);
  return [name];
};

/** x once the other operands exist: control edges make every reader of x wait for them. */
const barrier: Lowering<"Barrier"> = (node, operands, writer) => {
  const x = operandAt(operands, 0);
  return writer.emit("Identity", [x], { T: type(resultAt(node).dtype) }, { after: operands.slice(1) });
};

export const sourceLowerings: LoweringTable<OpOf<"source">> = {
  Constant: constant,
  Range: range,
  RandomBits: randomBits,
  Barrier: barrier,
};
