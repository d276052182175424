import { type GraphNode, type Shape, sameShape } from "@mp/graph";
import { int, type NodeWriter, string } from "@mp/onnx/write";
import { product, reshape } from "./operators.js";
import { at, type OwnLowering } from "./own-lowering.js";

/** Number of update rows, and length of the index of each row. */
function updateRows({ inputs: [, indices] }: GraphNode<"ScatterND">) {
  const { shape } = indices ?? { shape: [] };
  return { rows: product(shape.slice(0, -1)), depth: shape.at(-1) ?? 0 };
}

/**
 * Writes a ScatterND as ScatterElements, which adds in order. The CPU's ScatterND divides its rows among
 * threads, and two threads that add to the same row lose a sum. With a few thousand rows, each run loses a
 * different sum.
 */
export const scatterInOrder: OwnLowering<"ScatterND"> = (node, ...given) => {
  const { rows } = updateRows(node);
  return rows < 2 ? undefined : scatterAsElements(node, ...given);
};

/** Writes a ScatterND with a reduction as a ScatterElements. */
export const scatterAsElements: OwnLowering<"ScatterND"> = (node, operands, writer) => {
  const { reduction } = node.attributes;
  const [data] = node.inputs;
  if (reduction === "none" || data === undefined) return undefined;
  const { rows, depth } = updateRows(node);
  const axes = data.shape.slice(0, depth);
  const table = [product(axes), product(data.shape.slice(depth))];
  const flat = (index: number, shape: Shape): string =>
    sameShape(node.inputs[index]?.shape ?? [], shape)
      ? at(operands, index)
      : reshape(at(operands, index), shape, writer);
  const updates = [rows, ...table.slice(1)];
  const place = rowPlace(flat(1, [rows, depth]), axes, writer);
  const spread = writer.one("Expand", [place, writer.ints(updates)]);
  const attributes = { axis: int(0), reduction: string(reduction) };
  const sums = writer.one("ScatterElements", [flat(0, table), spread, flat(2, updates)], attributes);
  return [sameShape(table, data.shape) ? sums : reshape(sums, data.shape, writer)];
};

/** The flat row indices, [rows, 1], for i32 indices [rows, axes]; negative indices count from the end. */
function rowPlace(indices: string, axes: Shape, writer: NodeWriter): string {
  if (axes.length === 1) return indices;
  const isNegative = writer.one("Less", [indices, writer.scalar(0, "i32")]);
  const back = writer.one("Mul", [writer.cast(isNegative, "i32"), writer.list(axes, "i32")]);
  const strides = axes.map((_, axis) => product(axes.slice(axis + 1)));
  const parts = writer.one("Mul", [writer.one("Add", [indices, back]), writer.list(strides, "i32")]);
  // Adds the parts one by one, because CUDA computes ReduceSum in f32.
  const part = (axis: number): string =>
    writer.one("Slice", [parts, ...[axis, axis + 1, 1].map((bound) => writer.ints([bound]))]);
  return axes.slice(1).reduce((sum, _, axis) => writer.one("Add", [sum, part(axis + 1)]), part(0));
}
