import { GraphBuilder } from "../graph/builder.js";
import type { GraphNode } from "../graph/graph.js";
import type { HostTensor } from "../host-tensor.js";
import { evaluate } from "./evaluate.js";

/**
 * The values of a Range whose numbers engines do not count alike: the values of fractions depend on how they are summed.
 * @returns undefined for integers, which every engine counts exactly
 */
export function uncountableRange({ op, attributes }: GraphNode<"Range">): HostTensor | undefined {
  if (isCountedExactly(attributes)) return undefined;
  const builder = new GraphBuilder();
  return evaluate(builder.finish({ result: builder.emitOne(op, [], attributes) }), {})["result"];
}

function isCountedExactly({ start, limit, delta, dtype }: GraphNode<"Range">["attributes"]): boolean {
  if (dtype !== "f32" && dtype !== "i32" && dtype !== "i64") return false;
  const bound = dtype === "f32" ? 2 ** 24 : 2 ** 31;
  return [start, limit, delta].every((number) => Number.isInteger(number) && Math.abs(number) < bound);
}
