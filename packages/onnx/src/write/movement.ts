import type { DType } from "@mp/core";
import type { Op } from "@mp/core/graph";
import { int, ints, type OnnxAttributes, string } from "../model.js";
import { plain } from "./elementwise.js";
import { type Lowering, type LoweringTable, operandAt, typeAt } from "./lowering.js";

const onAxis = ({
  attributes: { axis },
}: {
  readonly attributes: { readonly axis: number };
}): OnnxAttributes => ({
  axis: int(axis),
});

/** Changes nothing, where ONNX would read an absent or empty list of axes as "all". */
const identity: Lowering = (_, operands, writer) => writer.emit("Identity", [operandAt(operands, 0)]);

const indexed: Lowering<"GatherND" | "ScatterND"> = (node, operands, writer) => {
  const attributes =
    node.op === "GatherND"
      ? { batch_dims: int((node.attributes as { readonly batchDims: number }).batchDims) }
      : { reduction: string((node.attributes as { readonly reduction: string }).reduction) };
  // ONNX allows i64 indices only.
  const wide = operands.map((name, index) => (index === 1 ? writer.cast(name, "i64") : name));
  return writer.emit(node.op, wide, attributes);
};

type MovementOp =
  | "Reshape" | "Transpose" | "Slice" | "Concat" | "Split" | "Gather" | "GatherElements" | "GatherND"
  | "ScatterElements" | "ScatterND" | "Expand" | "Squeeze" | "Unsqueeze" | "Pad" | "Tile"; // biome-ignore format: one list

const movement: LoweringTable<MovementOp> = {
  Reshape: (node, operands, writer) => {
    const { shape } = node.attributes;
    // Otherwise ONNX copies the input's dimension for a 0.
    const attributes: OnnxAttributes = shape.includes(0) ? { allowzero: int(1) } : {};
    return writer.emit("Reshape", [operandAt(operands, 0), writer.ints(shape)], attributes);
  },
  Transpose: plain(
    ({ attributes: { perm } }): OnnxAttributes => (perm.length === 0 ? {} : { perm: ints(perm) }),
  ),
  Slice: (node, operands, writer) => {
    const { starts, ends, axes, steps } = node.attributes;
    if (axes.length === 0) return identity(node, operands, writer);
    const { shape } = typeAt(node, 0);
    // Our -1 lies before the first element; ONNX would count it from the end.
    const reach = ends.map((end, index) => (end < 0 ? -1 - (shape[axes[index] as number] as number) : end));
    const inputs = [starts, reach, axes, steps].map((list) => writer.ints(list));
    return writer.emit("Slice", [operandAt(operands, 0), ...inputs]);
  },
  Concat: plain(onAxis),
  Split: (node, operands, writer) => {
    const { axis, split } = node.attributes;
    return writer.emit(
      "Split",
      [operandAt(operands, 0), writer.ints(split)],
      { axis: int(axis) },
      { outputs: split.length },
    );
  },
  Gather: plain(onAxis),
  GatherElements: plain(onAxis),
  GatherND: indexed,
  ScatterElements: plain(({ attributes: { axis, reduction } }) => ({
    axis: int(axis),
    reduction: string(reduction),
  })),
  ScatterND: indexed,
  Expand: (node, operands, writer) =>
    writer.emit("Expand", [operandAt(operands, 0), writer.ints(node.attributes.shape)]),
  Squeeze: (node, operands, writer) =>
    node.attributes.axes.length === 0
      ? identity(node, operands, writer)
      : writer.emit("Squeeze", [operandAt(operands, 0), writer.ints(node.attributes.axes)]),
  Unsqueeze: (node, operands, writer) =>
    node.attributes.axes.length === 0
      ? identity(node, operands, writer)
      : writer.emit("Unsqueeze", [operandAt(operands, 0), writer.ints(node.attributes.axes)]),
  Pad: (node, operands, writer) => {
    const { pads, mode, value } = node.attributes;
    const inputs = [operandAt(operands, 0), writer.ints(pads)];
    if (mode === "constant" && !Object.is(value, 0)) inputs.push(writer.scalar(value, typeAt(node, 0).dtype));
    return writer.emit("Pad", inputs, { mode: string(mode) });
  },
  Tile: (node, operands, writer) =>
    writer.emit("Tile", [operandAt(operands, 0), writer.ints(node.attributes.repeats)]),
};

const isStorageOnly = (dtype: DType): boolean => dtype === "f8e4m3" || dtype === "f8e5m2";

/** ONNX moves 8-bit floats in few ops; f16 holds every one of their values, so the way through it is exact. */
function throughF16<K extends Op>(lowering: Lowering<K>): Lowering<K> {
  return (node, operands, writer) => {
    const [result] = node.outputs;
    if (result === undefined || !isStorageOnly(result.dtype)) return lowering(node, operands, writer);
    const wide = operands.map((name, index) =>
      isStorageOnly(typeAt(node, index).dtype) ? writer.cast(name, "f16") : name,
    );
    const as16 = <V extends { readonly dtype: DType }>(value: V): V =>
      isStorageOnly(value.dtype) ? { ...value, dtype: "f16" } : value;
    const twin = { ...node, inputs: node.inputs.map(as16), outputs: node.outputs.map(as16) };
    return lowering(twin, wide, writer).map((name) => writer.cast(name, result.dtype));
  };
}

export const movementLowerings: LoweringTable<MovementOp | "OneHot" | "Where"> = {
  ...movement,
  Slice: throughF16(movement.Slice),
  Concat: throughF16(movement.Concat),
  Split: throughF16(movement.Split),
  Gather: throughF16(movement.Gather),
  GatherElements: throughF16(movement.GatherElements),
  GatherND: throughF16(movement.GatherND),
  ScatterElements: throughF16(movement.ScatterElements),
  ScatterND: throughF16(movement.ScatterND),
  Expand: throughF16(movement.Expand),
  Tile: throughF16(movement.Tile),
  Where: throughF16(plain()),
  OneHot: (node, operands, writer) => {
    const { axis, depth, dtype } = node.attributes;
    // Opset 23 has no bf16 here, and ONNX Runtime no i32 (and a depth of i64 only with indices of i64).
    const computed = dtype === "f16" ? "f16" : "f32";
    const result = writer.one(
      "OneHot",
      [operandAt(operands, 0), writer.scalar(depth, "i32"), writer.list([0, 1], computed)],
      { axis: int(axis) },
    );
    return [dtype === computed ? result : writer.cast(result, dtype)];
  },
};
