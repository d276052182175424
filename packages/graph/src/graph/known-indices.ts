/** Checks of indices that are constants or ranges of the graph, such as the positions of a sequence. */
import { MpError } from "../errors.js";
import { formatShape } from "../shape.js";
import type { OpAttributes } from "./attributes.js";
import { type AnyNode, isNode, type Value } from "./graph.js";
import { opTable } from "./op-table.js";

/** Whether the node's result holds exactly the elements of its first operand, possibly in another dtype. */
function keepsElements({ op }: AnyNode): boolean {
  const { moves } = opTable[op];
  return moves === "view" || moves === "copies" || op === "Cast";
}

export type MakerOf = (value: Value) => AnyNode | undefined;

/** Follows moves and casts of indices back to their source; undefined if a value on the way is not i32 or i64. */
export function sourceOfIndices(indices: Value | undefined, makerOf: MakerOf): Value | undefined {
  let from = indices;
  for (
    let node = from && makerOf(from);
    node !== undefined && keepsElements(node);
    node = from && makerOf(from)
  ) {
    from = node.inputs[0];
    if (from?.dtype !== "i32" && from?.dtype !== "i64") return undefined;
  }
  return from;
}

/** @throws MP_OUT_OF_RANGE for a constant or a range with indices outside of the data */
export function expectKnownIndices(
  op: "Gather" | "GatherElements",
  [data, indices]: readonly Value[],
  { axis }: OpAttributes["Gather"],
  { makerOf, nameOf }: { readonly makerOf: MakerOf; nameOf(value: Value): string | undefined },
): void {
  const source = sourceOfIndices(indices, makerOf);
  const maker = source && makerOf(source);
  const size = data?.shape[axis];
  if (data === undefined || maker === undefined || size === undefined) return;
  for (const index of findIndices(maker)) {
    if (index >= -size && index < size) continue;
    throw new MpError(
      "MP_OUT_OF_RANGE",
      `${op}: index ${index} is outside ${-size} … ${size - 1} of ${nameOf(data) ?? "data"} ${formatShape(data.shape)}, axis ${axis}; give it more rows, one for each position of a sequence, or pass shorter sequences`,
      { details: { op, index: Number(index), axis, size } },
    );
  }
}

/** All indices of a constant, or the first and the last index of a range. */
function findIndices(maker: AnyNode): Iterable<number | bigint> {
  if (isNode(maker, "Constant")) return maker.attributes.value.data;
  if (!isNode(maker, "Range")) return [];
  const { start, delta } = maker.attributes;
  const count = maker.outputs[0]?.shape[0] ?? 0;
  return count === 0 ? [] : [start, start + delta * (count - 1)].map(Math.trunc);
}
