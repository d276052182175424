import { formatShape } from "../../shape.js";
import type { Op } from "../attributes.js";
import type { OpOf } from "../families.js";
import type { ValueType } from "../graph.js";
import { expectDType, expectSameDType, expectShape, type InferTable, operands, shapeError } from "./rule.js";

/** The type of per-channel statistics, f32 [C]. */
function channelType(op: Op, x: ValueType): ValueType {
  const channels = x.shape[1];
  if (channels === undefined) throw shapeError(op, `x must be [N, C, …], got ${formatShape(x.shape)}`);
  return { dtype: "f32", shape: [channels] };
}

/** Checks that scale or bias is [C] and in f32 or in x's dtype. */
function expectParameter(op: Op, part: ValueType, x: ValueType, what: string): void {
  expectDType(op, part, [...new Set(["f32" as const, x.dtype])], what);
  expectShape(op, part.shape, channelType(op, x).shape, what);
}

export const batchNormalizationInfer: InferTable<OpOf<"batch-normalization">> = {
  BatchNormalization: (inputs) => {
    const op = "BatchNormalization";
    const [x, scale, bias] = operands(op, inputs, 3);
    expectDType(op, x);
    const statistics = channelType(op, x);
    expectParameter(op, scale, x, "scale");
    expectParameter(op, bias, x, "bias");
    return [x, statistics, statistics];
  },
  BatchNormalizationGradient: (inputs) => {
    const op = "BatchNormalizationGradient";
    const [dy, x, scale, mean, variance] = operands(op, inputs, 5);
    expectDType(op, dy);
    expectSameDType(op, [dy, x]);
    expectShape(op, dy.shape, x.shape, "dy");
    const statistics = channelType(op, x);
    expectParameter(op, scale, x, "scale");
    for (const [what, part] of Object.entries({ mean, variance })) {
      expectDType(op, part, ["f32"], what);
      expectShape(op, part.shape, statistics.shape, what);
    }
    return [x, statistics, statistics];
  },
};
