import type { HostTensor } from "@mp/core";
import { GraphBuilder, type GraphNode } from "@mp/core/graph";
import { evaluate } from "@mp/core/reference";
import { type Lowering, type LoweringTable, type } from "../graph/tf-writer.js";
import { operandAt, resultAt } from "./lowering.js";
import { noteZero } from "./zeros.js";

/** Whether every engine computes the same values: true for integers; fractions depend on how they are summed. */
function isCountedExactly({ start, limit, delta, dtype }: GraphNode<"Range">["attributes"]): boolean {
  if (dtype !== "f32" && dtype !== "i32" && dtype !== "i64") return false;
  const bound = dtype === "f32" ? 2 ** 24 : 2 ** 31;
  return [start, limit, delta].every((number) => Number.isInteger(number) && Math.abs(number) < bound);
}

function evaluated({ op, attributes }: GraphNode<"Range">): HostTensor {
  const builder = new GraphBuilder();
  const { result } = evaluate(builder.finish({ result: builder.emitOne(op, [], attributes) }), {});
  if (result === undefined) throw new Error("internal: the graph has no result");
  return result;
}

const range: Lowering<"Range"> = (node, _, writer) => {
  if (!isCountedExactly(node.attributes)) return [writer.constant(evaluated(node))];
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

export const sourceLowerings: LoweringTable<"Constant" | "Range" | "Barrier"> = {
  Constant: constant,
  Range: range,
  Barrier: barrier,
};
