import { type OpOf, type ScatterOp, sameShape } from "@mp/graph";
import { int, type } from "../graph/attributes.js";
import { throughF16 } from "./in-f32.js";
import { coordinate, elementCoordinates, elementView, fromStart } from "./indices.js";
import { count, type Lowering, type LoweringTable, resultAt } from "./lowering.js";

const gatherRows: Lowering<"Gather"> = (node, [x, indices], writer) => {
  const { axis } = node.attributes;
  return [x.gather(fromStart(indices, x.shape[axis] ?? 0, writer), axis)];
};

/**
 * Gathers within each row if the axis is the last one and the indices cover all other axes fully; else
 * gathers single elements.
 */
const gatherElements: Lowering<"GatherElements"> = (node, [data, indices], writer) => {
  const view = elementView(data.shape, indices.shape, node.attributes.axis);
  const x = data.reshape(view.data);
  const places = fromStart(indices.reshape(view.indices), view.data[view.axis] ?? 1, writer);
  const isLast = view.axis === view.data.length - 1;
  const isEven = sameShape(view.data.slice(0, view.axis), view.indices.slice(0, view.axis));
  const found =
    isLast && isEven
      ? x.gather(places, view.axis, view.axis)
      : x.gatherNd(elementCoordinates(view, places, writer));
  return [found.reshape(resultAt(node).shape)];
};

/** Adds the batch position to every index as a coordinate, because the engine's op has no batch axes. */
const gatherND: Lowering<"GatherND"> = (node, [data, indices], writer) => {
  const { batchDims } = node.attributes;
  const { shape } = resultAt(node);
  const depth = indices.shape.at(-1) ?? 0;
  const places = fromStart(indices, data.shape.slice(batchDims, batchDims + depth), writer);
  if (batchDims === 0) return [data.gatherNd(places)];
  const batch = count(indices.shape.slice(0, batchDims));
  const x = data.reshape([batch, ...data.shape.slice(batchDims)]);
  const own = [batch, ...indices.shape.slice(batchDims)];
  const line = coordinate([...own.slice(0, -1), 1], 0, writer);
  const parts = [line, places.reshape(own), writer.scalar(own.length - 1, "i32")];
  const attributes = { T: type("i32"), Tidx: type("i32"), N: int(2) };
  const joined = writer.term("ConcatV2", parts, attributes, {
    dtype: "i32",
    shape: [...own.slice(0, -1), depth + 1],
  });
  return [x.gatherNd(joined).reshape(shape)];
};

const oneHot: Lowering<"OneHot"> = (node, [given], writer) => {
  const { axis, depth, dtype } = node.attributes;
  const indices = fromStart(given, depth, writer);
  const inputs = [indices, writer.scalar(depth, "i32"), writer.scalar(1, dtype), writer.scalar(0, dtype)];
  const attributes = { T: type(dtype), TI: type("i32"), axis: int(axis) };
  return [writer.term("OneHot", inputs, attributes, resultAt(node))];
};

export const gatherLowerings: LoweringTable<Exclude<OpOf<"indexing">, ScatterOp>> = {
  Gather: throughF16(gatherRows),
  GatherElements: throughF16(gatherElements),
  GatherND: throughF16(gatherND),
  OneHot: oneHot,
};
