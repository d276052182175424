import type { OpOf } from "@mp/graph";
import { int, ints, type OnnxAttributes, string } from "../model.js";
import { type Lowering, type LoweringTable, type NodeWriter, operandAt, typeAt } from "./lowering.js";
import { plain } from "./plain.js";
import { throughF16 } from "./through-f16.js";

/** Writes an op that changes nothing, because ONNX would take an absent or empty list of axes to mean all axes. */
const identity: Lowering = (_, operands, writer) => writer.emit("Identity", [operandAt(operands, 0)]);

const alongAxes: Lowering<"Squeeze" | "Unsqueeze"> = (node, operands, writer) =>
  node.attributes.axes.length === 0
    ? identity(node, operands, writer)
    : writer.emit(node.op, [operandAt(operands, 0), writer.ints(node.attributes.axes)]);

/** Writes a Reshape. Without `allowzero`, a size of 0 in ONNX means the operand's size. */
export function reshape(name: string, shape: readonly number[], writer: NodeWriter): string {
  const attributes: OnnxAttributes = shape.includes(0) ? { allowzero: int(1) } : {};
  return writer.one("Reshape", [name, writer.ints(shape)], attributes);
}

export const movementLowerings: LoweringTable<OpOf<"movement">> = {
  Reshape: (node, operands, writer) => [reshape(operandAt(operands, 0), node.attributes.shape, writer)],
  Transpose: plain([], ({ attributes: { perm } }) => (perm.length === 0 ? {} : { perm: ints(perm) })),
  Slice: throughF16((node, operands, writer) => {
    const { starts, ends, axes, steps } = node.attributes;
    if (axes.length === 0) return identity(node, operands, writer);
    const { shape } = typeAt(node, 0);
    // Our -1 lies before the first element; ONNX would count it from the end.
    const reach = ends.map((end, index) => (end < 0 ? -1 - (shape[axes[index] as number] as number) : end));
    const inputs = [starts, reach, axes, steps].map((list) => writer.ints(list));
    return writer.emit("Slice", [operandAt(operands, 0), ...inputs]);
  }),
  Concat: throughF16(plain(["axis"])),
  Split: throughF16((node, operands, writer) => {
    const { axis, split } = node.attributes;
    const inputs = [operandAt(operands, 0), writer.ints(split)];
    return writer.emit("Split", inputs, { axis: int(axis) }, { outputs: split.length });
  }),
  Expand: throughF16((node, operands, writer) =>
    writer.emit("Expand", [operandAt(operands, 0), writer.ints(node.attributes.shape)]),
  ),
  Squeeze: alongAxes,
  Unsqueeze: alongAxes,
  Pad: (node, operands, writer) => {
    const { pads, mode, value } = node.attributes;
    const inputs = [operandAt(operands, 0), writer.ints(pads)];
    if (mode === "constant" && !Object.is(value, 0)) inputs.push(writer.scalar(value, typeAt(node, 0).dtype));
    return writer.emit("Pad", inputs, { mode: string(mode) });
  },
  Tile: throughF16((node, operands, writer) =>
    writer.emit("Tile", [operandAt(operands, 0), writer.ints(node.attributes.repeats)]),
  ),
};
