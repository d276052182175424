import { type DType, type Shape, tensor } from "@mp/core";
import { isFloat, type Op, type ScatterOp, type ScatterReduction } from "@mp/core/graph";
import { type Lowering, type LoweringTable, type TfWriter, type } from "../graph/tf-writer.js";
import { elementCoordinates, elementView, fromStart, gather } from "./indices.js";
import { emitT, operandAt, reshape, resultAt, sizeOf, typeAt } from "./lowering.js";
import { inF32, throughF16 } from "./twins.js";
import { isZero, noteZero } from "./zeros.js";

interface Scatter {
  readonly data: string;
  readonly dtype: DType;
  readonly shape: Shape;
  /** i32, counted from the start; the last axis holds the coordinates. */
  readonly places: string;
  readonly placesShape: Shape;
  readonly updates: string;
}

function tensorScatter(op: string, { data, places, updates, dtype }: Scatter, writer: TfWriter): string {
  return writer.one(op, [data, places, updates], { T: type(dtype), Tindices: type("i32") });
}

/** Gradients of gathers are sums into zeros; those zeros need not be allocated first. */
function scatterAdd(scatter: Scatter, writer: TfWriter): string {
  const { data, places, updates, dtype, shape } = scatter;
  if (!isZero(data, writer)) return tensorScatter("TensorScatterAdd", scatter, writer);
  return writer.one("ScatterNd", [places, updates, writer.ints(shape)], {
    T: type(dtype),
    Tindices: type("i32"),
  });
}

/**
 * The engine's scatter maximum and minimum lose NaN: a second scatter adds NaN where there was one, and 0 elsewhere.
 */
function scatterExtreme(op: "TensorScatterMax" | "TensorScatterMin") {
  return (scatter: Scatter, writer: TfWriter): string => {
    const { data, updates, dtype } = scatter;
    const best = tensorScatter(op, scatter, writer);
    if (!isFloat(dtype)) return best;
    const zero = writer.scalar(0, dtype);
    const nanOrZero = (x: string): string =>
      emitT("SelectV2", [emitT("IsNan", [x], dtype, writer), x, zero], dtype, writer);
    const marks = { ...scatter, data: nanOrZero(data), updates: nanOrZero(updates) };
    return emitT("AddV2", [best, tensorScatter("TensorScatterAdd", marks, writer)], dtype, writer);
  };
}

/**
 * The engine has no scatter that multiplies, but it has products of segments. A segment is a block of the result; its
 * number is found in a table of strides for each coordinate, whose lookup fails on an index outside.
 */
function scatterMul(scatter: Scatter, writer: TfWriter): string {
  const { data, dtype, shape, places, placesShape, updates } = scatter;
  const depth = placesShape.at(-1) ?? 1;
  const rows = sizeOf(placesShape.slice(0, -1));
  const block = shape.slice(depth);
  const flat = reshape(places, "i32", placesShape, [rows, depth], writer);
  const segments = shape
    .slice(0, depth)
    .map((size, axis) => {
      const stride = sizeOf(shape.slice(axis + 1, depth));
      const table = writer.constant(tensor(Int32Array.from({ length: size }, (_, at) => at * stride)));
      const column = gather(flat, writer.scalar(axis, "i32"), "i32", writer, { axis: 1 });
      return gather(table, column, "i32", writer, { axis: 0 });
    })
    .reduce((sum, part) => emitT("AddV2", [sum, part], "i32", writer));
  const count = sizeOf(shape.slice(0, depth));
  const from = [...placesShape.slice(0, -1), ...block];
  const products = writer.one(
    "UnsortedSegmentProd",
    [reshape(updates, dtype, from, [rows, ...block], writer), segments, writer.scalar(count, "i32")],
    { T: type(dtype), Tindices: type("i32"), Tnumsegments: type("i32") },
  );
  return emitT("Mul", [data, reshape(products, dtype, [count, ...block], shape, writer)], dtype, writer);
}

/** Later updates win where indices repeat, as the engine applies them in order. */
const update = (scatter: Scatter, writer: TfWriter): string =>
  tensorScatter("TensorScatterUpdate", scatter, writer);

const reductions: Readonly<Record<ScatterReduction, (scatter: Scatter, writer: TfWriter) => string>> = {
  none: update,
  add: scatterAdd,
  mul: scatterMul,
  max: scatterExtreme("TensorScatterMax"),
  min: scatterExtreme("TensorScatterMin"),
};

const scatterND: Lowering<"ScatterND"> = (node, operands, writer) => {
  const { dtype, shape } = resultAt(node);
  const [indices, updates] = [typeAt(node, 1), typeAt(node, 2)];
  const sizes = shape.slice(0, indices.shape.at(-1) ?? 0);
  // The engine requires rows of coordinates: a single one becomes a row.
  const rows = (of: Shape): Shape => (indices.shape.length === 1 ? [1, ...of] : of);
  const given = reshape(operandAt(operands, 1), "i32", indices.shape, rows(indices.shape), writer);
  const scatter = {
    data: operandAt(operands, 0),
    dtype,
    shape,
    places: fromStart(given, sizes, writer),
    placesShape: rows(indices.shape),
    updates: reshape(operandAt(operands, 2), dtype, updates.shape, rows(updates.shape), writer),
  };
  return [reductions[node.attributes.reduction](scatter, writer)];
};

const scatterElements: Lowering<"ScatterElements"> = (node, operands, writer) => {
  const { axis, reduction } = node.attributes;
  const { dtype, shape } = resultAt(node);
  const indices = typeAt(node, 1);
  const view = elementView(shape, indices.shape, axis);
  const given = reshape(operandAt(operands, 1), "i32", indices.shape, view.indices, writer);
  const places = fromStart(given, view.data[view.axis] ?? 1, writer);
  const whole = operandAt(operands, 0);
  const data = reshape(whole, dtype, shape, view.data, writer);
  if (isZero(whole, writer)) noteZero(data, writer);
  const scatter = {
    data,
    dtype,
    shape: view.data,
    places: elementCoordinates(view, places, writer),
    placesShape: [...view.indices, view.indices.length],
    updates: reshape(operandAt(operands, 2), dtype, indices.shape, view.indices, writer),
  };
  return [reshape(reductions[reduction](scatter, writer), dtype, view.data, shape, writer)];
};

/** Pure movement keeps the dtype; reductions are computed in f32. */
function byReduction<K extends ScatterOp & Op>(lowering: Lowering<K>): Lowering<K> {
  const [moved, combined] = [throughF16(lowering), inF32(lowering)];
  return (node, operands, writer) => {
    const { reduction } = node.attributes as { readonly reduction: ScatterReduction };
    return (reduction === "none" ? moved : combined)(node, operands, writer);
  };
}

export const scatterLowerings: LoweringTable<ScatterOp> = {
  ScatterElements: byReduction(scatterElements),
  ScatterND: byReduction(scatterND),
};
