import { DTYPES } from "../../dtype.js";
import { formatShape, normalizeAxis } from "../../shape.js";
import type { Op, ScatterReduction } from "../attributes.js";
import type { OpOf } from "../families.js";
import type { ValueType } from "../graph.js";
import { NUMBERS } from "../op-table.js";
import {
  argumentError,
  expectCount,
  expectDType,
  expectSameDType,
  expectShape,
  type InferTable,
  operand,
  shapeError,
} from "./rule.js";

function expectIndices(op: Op, indices: ValueType): void {
  expectDType(op, indices, ["i32"], "indices");
}

function expectScatterable(op: Op, data: ValueType, reduction: ScatterReduction): void {
  expectDType(op, data, reduction === "none" ? DTYPES : NUMBERS, "data");
}

export const indexingInfer: InferTable<OpOf<"indexing">> = {
  Gather: (inputs, { axis }) => {
    expectCount("Gather", inputs, 2);
    const data = operand("Gather", inputs, 0);
    const indices = operand("Gather", inputs, 1);
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
    expectCount("GatherElements", inputs, 2);
    const data = operand("GatherElements", inputs, 0);
    const indices = operand("GatherElements", inputs, 1);
    expectIndices("GatherElements", indices);
    normalizeAxis(axis, data.shape.length, "GatherElements");
    if (indices.shape.length !== data.shape.length) {
      throw shapeError(
        "GatherElements",
        `indices ${formatShape(indices.shape)} and data ${formatShape(data.shape)} differ in rank`,
      );
    }
    return [{ dtype: data.dtype, shape: indices.shape }];
  },
  GatherND: (inputs, { batchDims }) => {
    expectCount("GatherND", inputs, 2);
    const data = operand("GatherND", inputs, 0);
    const indices = operand("GatherND", inputs, 1);
    expectIndices("GatherND", indices);
    const depth = indices.shape.at(-1);
    if (batchDims < 0 || batchDims >= indices.shape.length) {
      throw argumentError(
        "GatherND",
        `batchDims must be from 0 to ${indices.shape.length - 1} for indices ${formatShape(indices.shape)}, got ${batchDims}`,
      );
    }
    if (depth === undefined || depth < 1 || depth > data.shape.length - batchDims) {
      throw shapeError(
        "GatherND",
        `indices ${formatShape(indices.shape)} do not index data of ${formatShape(data.shape)}`,
      );
    }
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
    expectCount("ScatterElements", inputs, 3);
    const data = operand("ScatterElements", inputs, 0);
    const indices = operand("ScatterElements", inputs, 1);
    const updates = operand("ScatterElements", inputs, 2);
    expectIndices("ScatterElements", indices);
    expectScatterable("ScatterElements", data, reduction);
    expectSameDType("ScatterElements", [data, updates]);
    normalizeAxis(axis, data.shape.length, "ScatterElements");
    expectShape("ScatterElements", updates.shape, indices.shape, "updates");
    if (indices.shape.length !== data.shape.length) {
      throw shapeError(
        "ScatterElements",
        `indices ${formatShape(indices.shape)} and data ${formatShape(data.shape)} differ in rank`,
      );
    }
    return [data];
  },
  ScatterND: (inputs, { reduction }) => {
    expectCount("ScatterND", inputs, 3);
    const data = operand("ScatterND", inputs, 0);
    const indices = operand("ScatterND", inputs, 1);
    const updates = operand("ScatterND", inputs, 2);
    expectIndices("ScatterND", indices);
    expectScatterable("ScatterND", data, reduction);
    expectSameDType("ScatterND", [data, updates]);
    const depth = indices.shape.at(-1);
    if (depth === undefined || depth < 1 || depth > data.shape.length) {
      throw shapeError(
        "ScatterND",
        `indices ${formatShape(indices.shape)} do not index data of ${formatShape(data.shape)}`,
      );
    }
    expectShape(
      "ScatterND",
      updates.shape,
      [...indices.shape.slice(0, -1), ...data.shape.slice(depth)],
      "updates",
    );
    return [data];
  },
  OneHot: (inputs, { axis, depth, dtype }) => {
    expectCount("OneHot", inputs, 1);
    const indices = operand("OneHot", inputs, 0);
    expectIndices("OneHot", indices);
    normalizeAxis(axis, indices.shape.length + 1, "OneHot");
    if (!Number.isInteger(depth) || depth < 1)
      throw argumentError("OneHot", `depth is ${depth}, needs 1 or more`);
    return [{ dtype, shape: [...indices.shape.slice(0, axis), depth, ...indices.shape.slice(axis)] }];
  },
};
