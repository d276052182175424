/** Forms of operators that every reader of ONNX takes, where it takes some of their operands only. */
import { int } from "@mp/onnx/write";
import { at, type OwnLowering, type OwnLowerings, operandType } from "../lowerings/own-lowering.js";

/** Data as long as the indices along the other axes, of which no more is read. */
const gatherElements: OwnLowering<"GatherElements"> = (node, [x = "", indices = ""], writer, standard) => {
  const { shape } = operandType(node);
  const wanted = node.inputs[1]?.shape ?? [];
  const axes = shape.flatMap((size, axis) =>
    axis !== node.attributes.axis && (wanted[axis] ?? size) < size ? [axis] : [],
  );
  if (axes.length === 0) return undefined;
  // By Gather, since a Slice is moved behind the operator again.
  const part = axes.reduce((whole, axis) => {
    const places = Array.from({ length: wanted[axis] ?? 0 }, (_, place) => place);
    return writer.one("Gather", [whole, writer.ints(places)], { axis: int(axis) });
  }, x);
  return standard([part, indices]);
};

/** A scalar repeats along no axis. */
const tile: OwnLowering<"Tile"> = (node, operands, writer) =>
  operandType(node).shape.length === 0 ? [writer.one("Identity", [at(operands, 0)])] : undefined;

/** Scale and bias in the shape of what is normalized. */
const layerNormalization: OwnLowering<"LayerNormalization"> = (
  node,
  [x = "", ...others],
  writer,
  standard,
) => {
  const shape = operandType(node).shape.slice(node.attributes.axis);
  const isWhole = node.inputs.slice(1).every((value) => value.shape.length === shape.length);
  if (isWhole) return undefined;
  return standard([x, ...others.map((name) => writer.one("Expand", [name, writer.ints(shape)]))]);
};

export const acceptedForms: OwnLowerings = {
  GatherElements: gatherElements,
  Tile: tile,
  LayerNormalization: layerNormalization,
};
