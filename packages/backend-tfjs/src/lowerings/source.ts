import { type OpOf, uncountableRange } from "@mp/graph";
import { type } from "../graph/attributes.js";
import { type Lowering, type LoweringTable, resultAt } from "./lowering.js";
import { randomBits } from "./random.js";
import { markZero } from "./zeros.js";

const range: Lowering<"Range"> = (node, _, writer) => {
  const values = uncountableRange(node);
  if (values !== undefined) return [writer.constant(values)];
  const { start, limit, delta, dtype } = node.attributes;
  const bounds = [start, limit, delta].map((number) => writer.scalar(number, dtype));
  // The engine requires a limit on the side that the step leads to.
  if (resultAt(node).shape[0] === 0) bounds.splice(1, 1, writer.scalar(start, dtype));
  return [writer.term("Range", bounds, { Tidx: type(dtype) }, resultAt(node))];
};

const constant: Lowering<"Constant"> = (node, _, writer) => {
  const { value } = node.attributes;
  const term = writer.constant(value);
  const bytes = new Uint8Array(value.data.buffer, value.data.byteOffset, value.data.byteLength);
  return [bytes.every((byte) => byte === 0) ? markZero(term) : term];
};

/** Returns x, available only once the other operands are computed. Control inputs make the readers of x wait. */
const barrier: Lowering<"Barrier"> = (_, [x, ...others], writer) => [
  writer.term("Identity", [x], { T: type(x.dtype) }, x, { after: others }),
];

export const sourceLowerings: LoweringTable<OpOf<"source">> = {
  Constant: constant,
  Range: range,
  RandomBits: randomBits,
  Barrier: barrier,
};
