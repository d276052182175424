/** Gathers and scatters in dtypes that the provider's kernels lack. Gathers read from flattened data. */
import { type DType, type ScatterOp, type Shape, stridesOf } from "@mp/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import { scatterKeepingNaN } from "../lowerings/nan.js";
import { reshape, upTo } from "../lowerings/operators.js";
import { at, type OwnLowering, type OwnLoweringsOf, operandType } from "../lowerings/own-lowering.js";

/** An i32 list along `axis`, reshaped to broadcast with values of this rank. */
function column(numbers: readonly number[], rank: number, axis: number, writer: NodeWriter): string {
  const shape = Array.from({ length: rank }, (_, index) => (index === axis ? numbers.length : 1));
  return reshape(writer.list(numbers, "i32"), shape, writer);
}

/** Writes a `GatherElements` for any dtype. */
export function gatherElements(
  { name, shape, dtype }: { readonly name: string; readonly shape: Shape; readonly dtype: DType },
  { name: indices, shape: places }: { readonly name: string; readonly shape: Shape },
  axis: number,
  writer: NodeWriter,
): string {
  if (dtype === "f32" || dtype === "f16")
    return writer.one("GatherElements", [name, indices], { axis: int(axis) });
  const steps = stridesOf(shape);
  const size = shape[axis] ?? 1;
  const isBelow = writer.one("Less", [indices, writer.scalar(0, "i32")]);
  const fromStart = writer.one("Where", [
    isBelow,
    writer.one("Add", [indices, writer.scalar(size, "i32")]),
    indices,
  ]);
  let place = writer.one("Mul", [fromStart, writer.scalar(steps[axis] ?? 1, "i32")]);
  places.forEach((count, index) => {
    if (index === axis || count === 1) return;
    const offsets = upTo(count).map((at) => at * (steps[index] ?? 1));
    place = writer.one("Add", [place, column(offsets, shape.length, index, writer)]);
  });
  return writer.one("Gather", [reshape(name, [-1], writer), place], { axis: int(0) });
}

const gather: OwnLowering<"GatherElements"> = (node, operands, writer) => {
  const [x, places] = node.inputs;
  if (x === undefined || places === undefined || x.dtype === "f32" || x.dtype === "f16") return undefined;
  const { shape, dtype } = x;
  return [
    gatherElements(
      { name: at(operands, 0), shape, dtype },
      { name: at(operands, 1), shape: places.shape },
      node.attributes.axis,
      writer,
    ),
  ];
};

/** Slices i32, and any dtype with negative steps, by gathering, because the Slice kernel gets some of these wrong. */
export const sliceAsRows: OwnLowering<"Slice"> = (node, operands, writer) => {
  const { dtype } = operandType(node);
  const { starts, axes, steps } = node.attributes;
  if (dtype !== "i32" && steps.every((step) => step > 0)) return undefined;
  const shape = node.outputs[0]?.shape ?? [];
  return [
    axes.reduce(
      (x, axis, index) => {
        const places = upTo(shape[axis] ?? 0).map((at) => (starts[index] ?? 0) + at * (steps[index] ?? 1));
        return writer.one("Gather", [x, writer.list(places, "i32")], { axis: int(axis) });
      },
      at(operands, 0),
    ),
  ];
};

/** 1 where the index equals the position, else 0; negative indices count from the end. */
const oneHot: OwnLowering<"OneHot"> = (node, operands, writer) => {
  const { axis, depth, dtype } = node.attributes;
  const rank = node.outputs[0]?.shape.length ?? 1;
  const index = at(operands, 0);
  const isBelow = writer.one("Less", [index, writer.scalar(0, "i32")]);
  const end = writer.one("Add", [index, writer.scalar(depth, "i32")]);
  const place = writer.one("Unsqueeze", [writer.one("Where", [isBelow, end, index]), writer.ints([axis])]);
  const hot = writer.one("Equal", [place, column(upTo(depth), rank, axis < 0 ? axis + rank : axis, writer)]);
  return [writer.cast(hot, dtype)];
};

/**
 * Scatters into a copy of the data that a shader makes. The kernels overwrite data that nothing else reads,
 * and copy other data in a way that is lost when a recorded run is replayed. They cannot run without updates.
 */
const scatter: OwnLowering<ScatterOp> = (node, operands, writer, standard) => {
  const { dtype, shape } = operandType(node);
  const [data, places, updates] = [0, 1, 2].map((index) => at(operands, index)) as [string, string, string];
  if (node.inputs[2]?.shape.includes(0)) return [data];
  const isSmall = dtype === "bool" || dtype === "u8";
  const [wide, written] = isSmall ? [writer.cast(data, "f32"), writer.cast(updates, "f32")] : [data, updates];
  const own = [writer.one("Expand", [wide, writer.ints(shape)]), places, written];
  const results =
    scatterKeepingNaN(node, own, writer, standard) ?? standard(own, isSmall ? "f32" : undefined);
  return isSmall ? results.map((name) => writer.cast(name, dtype)) : results;
};

export const indexingLowerings: OwnLoweringsOf<"indexing"> = {
  GatherElements: gather,
  OneHot: oneHot,
  ScatterElements: scatter,
  ScatterND: scatter,
};
