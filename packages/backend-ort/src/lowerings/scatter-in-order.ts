import type { Shape } from "@mp/core";
import type { NodeWriter } from "@mp/onnx";
import { int, string } from "@mp/onnx";
import { sizeOf } from "./blocked-layout.js";
import { at, type OwnLowering } from "./own-lowering.js";

/**
 * The CPU's ScatterND shares its rows out among threads, and two that add to one row lose one of the sums: of some thousand rows
 * with repeated indices, a different one in each run. ScatterElements goes through them in order.
 */
export const scatterInOrder: OwnLowering<"ScatterND"> = (node, operands, writer) => {
  const { reduction } = node.attributes;
  const [data, indices] = node.inputs;
  const depth = indices?.shape.at(-1);
  if (reduction === "none" || data === undefined || indices === undefined || depth === undefined)
    return undefined;
  const rows = sizeOf(indices.shape.slice(0, -1));
  if (rows < 2 || depth === 0) return undefined;
  const axes = data.shape.slice(0, depth);
  const width = sizeOf(data.shape.slice(depth));
  const reshaped = (name: string, shape: Shape): string => writer.one("Reshape", [name, writer.ints(shape)]);
  const place = placeOf(reshaped(at(operands, 1), [rows, depth]), axes, writer);
  const spread = writer.one("Expand", [place, writer.ints([rows, width])]);
  const into = reshaped(at(operands, 0), [sizeOf(axes), width]);
  const from = reshaped(at(operands, 2), [rows, width]);
  const attributes = { axis: int(0), reduction: string(reduction) };
  return [reshaped(writer.one("ScatterElements", [into, spread, from], attributes), data.shape)];
};

/** [rows, 1]: the place of each row of i32 indices [rows, axes] among all; negative indices count from the end. */
function placeOf(indices: string, axes: Shape, writer: NodeWriter): string {
  if (axes.length === 1) return indices;
  const isNegative = writer.one("Less", [indices, writer.scalar(0, "i32")]);
  const back = writer.one("Mul", [writer.cast(isNegative, "i32"), writer.list(axes, "i32")]);
  const strides = axes.map((_, axis) => sizeOf(axes.slice(axis + 1)));
  const parts = writer.one("Mul", [writer.one("Add", [indices, back]), writer.list(strides, "i32")]);
  return writer.one("ReduceSum", [parts, writer.ints([1])], { keepdims: int(1) });
}
