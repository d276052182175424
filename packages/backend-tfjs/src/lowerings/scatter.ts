import { isFloat, type Op, type ScatterOp, type ScatterReduction, type Shape, tensor } from "@mp/graph";
import { type } from "../graph/attributes.js";
import type { ScopeWriter } from "../graph/scope-writer.js";
import type { Term } from "../graph/term.js";
import { inF32, throughF16 } from "./in-f32.js";
import { elementCoordinates, elementView, fromStart } from "./indices.js";
import { count, type Lowering, type LoweringTable, resultAt } from "./lowering.js";
import { markZero } from "./zeros.js";

interface Scatter {
  readonly data: Term;
  /** Nonnegative i32 coordinates. The coordinates of one update lie along the last axis. */
  readonly places: Term;
  readonly updates: Term;
}

function tensorScatter(op: string, { data, places, updates }: Scatter, writer: ScopeWriter): Term {
  const attributes = { T: type(data.dtype), Tindices: type("i32") };
  return writer.term(`TensorScatter${op}`, [data, places, updates], attributes, data);
}

/** Adds updates to data. Data known to be zeros, as for a gather's gradient, is not allocated first. */
function scatterAdd(scatter: Scatter, writer: ScopeWriter): Term {
  const { data, places, updates } = scatter;
  if (!data.isZero) return tensorScatter("Add", scatter, writer);
  const attributes = { T: type(data.dtype), Tindices: type("i32") };
  return writer.term("ScatterNd", [places, updates, writer.ints(data.shape)], attributes, data);
}

/** Restores NaN in the engine's max and min scatters, by a second scatter that adds NaN where an operand is NaN. */
const scatterExtreme =
  (op: "Max" | "Min") =>
  (scatter: Scatter, writer: ScopeWriter): Term => {
    const { data, updates } = scatter;
    const best = tensorScatter(op, scatter, writer);
    if (!isFloat(data.dtype)) return best;
    const zero = writer.scalar(0, data.dtype);
    const nanOrZero = (x: Term): Term => x.op("IsNan").select(x, zero);
    const marks = { ...scatter, data: nanOrZero(data), updates: nanOrZero(updates) };
    return best.add(tensorScatter("Add", marks, writer));
  };

/**
 * Multiplies by segment products, because the engine has no scatter that multiplies. A segment is the block of the
 * result at one coordinate. The index of a segment is a sum of strides · coordinates. Each term is looked up in a
 * table, which fails for a coordinate out of range.
 */
function scatterMul({ data, places, updates }: Scatter, writer: ScopeWriter): Term {
  const { dtype, shape } = data;
  const depth = places.shape.at(-1) ?? 1;
  const rows = count(places.shape.slice(0, -1));
  const block = shape.slice(depth);
  const flat = places.reshape([rows, depth]);
  const segments = shape
    .slice(0, depth)
    .map((size, axis) => {
      const stride = count(shape.slice(axis + 1, depth));
      const table = writer.constant(tensor(Int32Array.from({ length: size }, (_, at) => at * stride)));
      return table.gather(flat.gather(writer.scalar(axis, "i32"), 1), 0);
    })
    .reduce((sum, part) => sum.add(part));
  const blocks = count(shape.slice(0, depth));
  const inputs = [updates.reshape([rows, ...block]), segments, writer.scalar(blocks, "i32")];
  const attributes = { T: type(dtype), Tindices: type("i32"), Tnumsegments: type("i32") };
  const products = { dtype, shape: [blocks, ...block] };
  return data.mul(writer.term("UnsortedSegmentProd", inputs, attributes, products).reshape(shape));
}

const reductions: Readonly<Record<ScatterReduction, (scatter: Scatter, writer: ScopeWriter) => Term>> = {
  // Later updates win where indices repeat, as the engine applies them in order.
  none: (scatter, writer) => tensorScatter("Update", scatter, writer),
  add: scatterAdd,
  mul: scatterMul,
  max: scatterExtreme("Max"),
  min: scatterExtreme("Min"),
};

const scatterND: Lowering<"ScatterND"> = (node, [data, indices, updates], writer) => {
  const sizes = data.shape.slice(0, indices.shape.at(-1) ?? 0);
  // The engine requires rows of coordinates, so a single coordinate becomes a row.
  const rows = (of: Shape): Shape => (indices.shape.length === 1 ? [1, ...of] : of);
  const places = fromStart(indices.reshape(rows(indices.shape)), sizes, writer);
  const scatter = { data, places, updates: updates.reshape(rows(updates.shape)) };
  return [reductions[node.attributes.reduction](scatter, writer)];
};

const scatterElements: Lowering<"ScatterElements"> = (node, [whole, indices, updates], writer) => {
  const { axis, reduction } = node.attributes;
  const view = elementView(whole.shape, indices.shape, axis);
  const given = fromStart(indices.reshape(view.indices), view.data[view.axis] ?? 1, writer);
  const data = whole.reshape(view.data);
  if (whole.isZero) markZero(data);
  const places = elementCoordinates(view, given, writer);
  const scatter = { data, places, updates: updates.reshape(view.indices) };
  return [reductions[reduction](scatter, writer).reshape(resultAt(node).shape)];
};

/** Scatters in the elements' dtype (f8 as f16) if nothing is combined, else in f32. */
function byReduction<K extends ScatterOp & Op>(lowering: Lowering<K>): Lowering<K> {
  const [moving, combining] = [throughF16(lowering), inF32(lowering)];
  return (node, operands, writer) => {
    const { reduction } = node.attributes as { readonly reduction: ScatterReduction };
    return (reduction === "none" ? moving : combining)(node, operands, writer);
  };
}

export const scatterLowerings: LoweringTable<ScatterOp> = {
  ScatterElements: byReduction(scatterElements),
  ScatterND: byReduction(scatterND),
};
