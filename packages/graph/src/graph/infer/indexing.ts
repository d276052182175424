import { DTYPES } from "../../dtype.js";
import { formatShape, normalizeAxis } from "../../shape.js";
import type { Op, ScatterReduction } from "../attributes.js";
import type { OpOf } from "../families.js";
import type { ValueType } from "../graph.js";
import { NUMBERS } from "../op-table.js";
import {
  argumentError,
  expectDType,
  expectSameDType,
  expectShape,
  type InferTable,
  operands,
  shapeError,
} from "./rule.js";

function expectIndices(op: Op, indices: ValueType): void {
  expectDType(op, indices, ["i32"], "indices");
}

function expectScatterable(op: Op, data: ValueType, reduction: ScatterReduction): void {
  expectDType(op, data, reduction === "none" ? DTYPES : NUMBERS, "data");
}

function expectSameRank(op: Op, indices: ValueType, data: ValueType): void {
  if (indices.shape.length === data.shape.length) return;
  throw shapeError(
    op,
    `indices ${formatShape(indices.shape)} and data ${formatShape(data.shape)} differ in rank`,
  );
}

/** Number of data axes that one index (a row of `indices`) selects along. */
function indexDepth(op: Op, indices: ValueType, data: ValueType, batchDims = 0): number {
  const depth = indices.shape.at(-1) ?? 0;
  if (depth >= 1 && depth <= data.shape.length - batchDims) return depth;
  throw shapeError(
    op,
    `indices ${formatShape(indices.shape)} do not index data of ${formatShape(data.shape)}`,
  );
}

export const indexingInfer: InferTable<OpOf<"indexing">> = {
  Gather: (inputs, { axis }) => {
    const [data, indices] = operands("Gather", inputs, 2);
    expectIndices("Gather", indices);
    normalizeAxis(axis, data.shape.length, "Gather");
    return [
      {
        dtype: data.dtype,
        shape: [...data.shape.slice(0, axis), ...indices.shape, ...data.shape.slice(axis + 1)],
      },
    ];
  },
  GatherElements: (inputs, { axis }) => {
    const [data, indices] = operands("GatherElements", inputs, 2);
    expectIndices("GatherElements", indices);
    normalizeAxis(axis, data.shape.length, "GatherElements");
    expectSameRank("GatherElements", indices, data);
    return [{ dtype: data.dtype, shape: indices.shape }];
  },
  GatherND: (inputs, { batchDims }) => {
    const [data, indices] = operands("GatherND", inputs, 2);
    expectIndices("GatherND", indices);
    if (batchDims < 0 || batchDims >= indices.shape.length) {
      throw argumentError(
        "GatherND",
        `batchDims must be from 0 to ${indices.shape.length - 1} for indices ${formatShape(indices.shape)}, got ${batchDims}`,
      );
    }
    const depth = indexDepth("GatherND", indices, data, batchDims);
    expectShape(
      "GatherND",
      indices.shape.slice(0, batchDims),
      data.shape.slice(0, batchDims),
      "batch part of indices",
    );
    return [
      { dtype: data.dtype, shape: [...indices.shape.slice(0, -1), ...data.shape.slice(batchDims + depth)] },
    ];
  },
  ScatterElements: (inputs, { axis, reduction }) => {
    const [data, indices, updates] = operands("ScatterElements", inputs, 3);
    expectIndices("ScatterElements", indices);
    expectScatterable("ScatterElements", data, reduction);
    expectSameDType("ScatterElements", [data, updates]);
    normalizeAxis(axis, data.shape.length, "ScatterElements");
    expectShape("ScatterElements", updates.shape, indices.shape, "updates");
    expectSameRank("ScatterElements", indices, data);
    return [data];
  },
  ScatterND: (inputs, { reduction }) => {
    const [data, indices, updates] = operands("ScatterND", inputs, 3);
    expectIndices("ScatterND", indices);
    expectScatterable("ScatterND", data, reduction);
    expectSameDType("ScatterND", [data, updates]);
    const depth = indexDepth("ScatterND", indices, data);
    expectShape(
      "ScatterND",
      updates.shape,
      [...indices.shape.slice(0, -1), ...data.shape.slice(depth)],
      "updates",
    );
    return [data];
  },
  OneHot: (inputs, { axis, depth, dtype }) => {
    const [indices] = operands("OneHot", inputs, 1);
    expectIndices("OneHot", indices);
    normalizeAxis(axis, indices.shape.length + 1, "OneHot");
    if (!Number.isInteger(depth) || depth < 1)
      throw argumentError("OneHot", `depth is ${depth}, needs 1 or more`);
    return [{ dtype, shape: [...indices.shape.slice(0, axis), depth, ...indices.shape.slice(axis)] }];
  },
};
