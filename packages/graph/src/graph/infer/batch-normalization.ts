import { formatShape } from "../../shape.js";
import type { Op } from "../attributes.js";
import type { OpOf } from "../families.js";
import type { ValueType } from "../graph.js";
import {
  expectCount,
  expectDType,
  expectSameDType,
  expectShape,
  type InferTable,
  operand,
  shapeError,
} from "./rule.js";

/** The type of per-channel statistics, f32 [C]. */
function channelType(op: Op, x: ValueType): ValueType {
  const channels = x.shape[1];
  if (channels === undefined) throw shapeError(op, `x must be [N, C, …], got ${formatShape(x.shape)}`);
  return { dtype: "f32", shape: [channels] };
}

/** Checks scale or bias: f32 beside any x, or x's dtype. */
function expectParameter(op: Op, part: ValueType, x: ValueType, what: string): void {
  expectDType(op, part, [...new Set(["f32" as const, x.dtype])], what);
  expectShape(op, part.shape, channelType(op, x).shape, what);
}

export const batchNormalizationInfer: InferTable<OpOf<"batch-normalization">> = {
  BatchNormalization: (inputs) => {
    const op = "BatchNormalization";
    expectCount(op, inputs, 3);
    const x = operand(op, inputs, 0);
    expectDType(op, x);
    const statistics = channelType(op, x);
    expectParameter(op, operand(op, inputs, 1), x, "scale");
    expectParameter(op, operand(op, inputs, 2), x, "bias");
    return [x, statistics, statistics];
  },
  BatchNormalizationGradient: (inputs) => {
    const op = "BatchNormalizationGradient";
    expectCount(op, inputs, 5);
    const [dy, x] = [operand(op, inputs, 0), operand(op, inputs, 1)];
    expectDType(op, dy);
    expectSameDType(op, [dy, x]);
    expectShape(op, dy.shape, x.shape, "dy");
    const statistics = channelType(op, x);
    expectParameter(op, operand(op, inputs, 2), x, "scale");
    for (const [index, what] of [
      [3, "mean"],
      [4, "variance"],
    ] as const) {
      expectDType(op, operand(op, inputs, index), ["f32"], what);
      expectShape(op, operand(op, inputs, index).shape, statistics.shape, what);
    }
    return [x, statistics, statistics];
  },
};
