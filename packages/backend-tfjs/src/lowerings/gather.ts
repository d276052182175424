import type { OpOf, ScatterOp } from "@mp/core/graph";
import { int, type Lowering, type LoweringTable, type TfWriter, type } from "../graph/tf-writer.js";
import { coordinate, elementCoordinates, elementView, fromStart, gather } from "./indices.js";
import { operandAt, reshape, resultAt, sameDimensions, sizeOf, typeAt } from "./lowering.js";
import { throughF16 } from "./twins.js";

const gatherRows: Lowering<"Gather"> = (node, operands, writer) => {
  const { axis } = node.attributes;
  const { dtype, shape } = typeAt(node, 0);
  const indices = fromStart(operandAt(operands, 1), shape[axis] ?? 0, writer);
  return [gather(operandAt(operands, 0), indices, dtype, writer, { axis })];
};

function gatherNd(x: string, places: string, dtype: Parameters<typeof type>[0], writer: TfWriter): string {
  return writer.one("GatherNd", [x, places], { Tparams: type(dtype), Tindices: type("i32") });
}

/**
 * Gathers rows of matrices where the axis is the last and the indices cover the other axes fully, otherwise single
 * elements.
 */
const gatherElements: Lowering<"GatherElements"> = (node, operands, writer) => {
  const [data, indices] = [typeAt(node, 0), typeAt(node, 1)];
  const { dtype, shape } = resultAt(node);
  const view = elementView(data.shape, indices.shape, node.attributes.axis);
  const size = view.data[view.axis] ?? 1;
  const x = reshape(operandAt(operands, 0), dtype, data.shape, view.data, writer);
  const given = reshape(operandAt(operands, 1), "i32", indices.shape, view.indices, writer);
  const places = fromStart(given, size, writer);
  const isLast = view.axis === view.data.length - 1;
  const isEven = sameDimensions(view.data.slice(0, view.axis), view.indices.slice(0, view.axis));
  const found =
    isLast && isEven
      ? gather(x, places, dtype, writer, { axis: view.axis, batchDims: view.axis })
      : gatherNd(x, elementCoordinates(view, places, writer), dtype, writer);
  return [reshape(found, dtype, view.indices, shape, writer)];
};

/** The engine's op has no batch axes: they become one more coordinate of every index. */
const gatherND: Lowering<"GatherND"> = (node, operands, writer) => {
  const { batchDims } = node.attributes;
  const [data, indices] = [typeAt(node, 0), typeAt(node, 1)];
  const { dtype, shape } = resultAt(node);
  const depth = indices.shape.at(-1) ?? 0;
  const places = fromStart(operandAt(operands, 1), data.shape.slice(batchDims, batchDims + depth), writer);
  if (batchDims === 0) return [gatherNd(operandAt(operands, 0), places, dtype, writer)];
  const batch = sizeOf(indices.shape.slice(0, batchDims));
  const rest = data.shape.slice(batchDims);
  const x = reshape(operandAt(operands, 0), dtype, data.shape, [batch, ...rest], writer);
  const own = [batch, ...indices.shape.slice(batchDims)];
  const line = [...own.slice(0, -1), 1];
  const joined = writer.one(
    "ConcatV2",
    [
      coordinate(line, 0, writer),
      reshape(places, "i32", indices.shape, own, writer),
      writer.scalar(own.length - 1, "i32"),
    ],
    { T: type("i32"), Tidx: type("i32"), N: int(2) },
  );
  const found = gatherNd(x, joined, dtype, writer);
  return [reshape(found, dtype, [...own.slice(0, -1), ...rest.slice(depth)], shape, writer)];
};

const oneHot: Lowering<"OneHot"> = (node, operands, writer) => {
  const { axis, depth, dtype } = node.attributes;
  const indices = fromStart(operandAt(operands, 0), depth, writer);
  return writer.emit(
    "OneHot",
    [indices, writer.scalar(depth, "i32"), writer.scalar(1, dtype), writer.scalar(0, dtype)],
    { T: type(dtype), TI: type("i32"), axis: int(axis) },
  );
};

export const gatherLowerings: LoweringTable<Exclude<OpOf<"indexing">, ScatterOp>> = {
  Gather: throughF16(gatherRows),
  GatherElements: throughF16(gatherElements),
  GatherND: throughF16(gatherND),
  OneHot: oneHot,
};
