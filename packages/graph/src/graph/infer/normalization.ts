import { broadcastShapes, formatShape, normalizeAxis, type Shape, sameShape } from "../../shape.js";
import type { Op } from "../attributes.js";
import type { OpOf, SoftmaxOp } from "../families.js";
import type { ValueType } from "../graph.js";
import {
  argumentError,
  expectCount,
  expectDType,
  expectSameDType,
  type InferTable,
  operand,
  shapeError,
} from "./rule.js";

function alongAxis(op: SoftmaxOp) {
  return (inputs: readonly ValueType[], { axis }: { readonly axis: number }): readonly ValueType[] => {
    expectCount(op, inputs, 1);
    const x = operand(op, inputs, 0);
    expectDType(op, x);
    normalizeAxis(axis, x.shape.length, op);
    return [x];
  };
}

function expectNormalized(op: Op, part: ValueType, x: ValueType, axis: number, what: string): void {
  const normalized: Shape = x.shape.slice(axis);
  if (!sameShape(broadcastShapes(normalized, part.shape, op), normalized)) {
    throw shapeError(
      op,
      `${what} of ${formatShape(part.shape)} does not broadcast to ${formatShape(normalized)}`,
    );
  }
}

export const normalizationInfer: InferTable<OpOf<"normalization">> = {
  Softmax: alongAxis("Softmax"),
  LogSoftmax: alongAxis("LogSoftmax"),
  LayerNormalization: (inputs, { axis, epsilon }) => {
    expectCount("LayerNormalization", inputs, 2, 3);
    const x = operand("LayerNormalization", inputs, 0);
    expectDType("LayerNormalization", x);
    expectSameDType("LayerNormalization", inputs);
    normalizeAxis(axis, x.shape.length, "LayerNormalization");
    if (!(epsilon > 0))
      throw argumentError("LayerNormalization", `epsilon is ${epsilon}, needs to be above 0`);
    expectNormalized("LayerNormalization", operand("LayerNormalization", inputs, 1), x, axis, "scale");
    if (inputs[2] !== undefined) expectNormalized("LayerNormalization", inputs[2], x, axis, "bias");
    const statistics: ValueType = {
      dtype: "f32",
      shape: x.shape.map((dimension, index) => (index < axis ? dimension : 1)),
    };
    return [x, statistics, statistics];
  },
  RMSNormalization: (inputs, { axis, epsilon }) => {
    expectCount("RMSNormalization", inputs, 2);
    const x = operand("RMSNormalization", inputs, 0);
    expectDType("RMSNormalization", x);
    expectSameDType("RMSNormalization", inputs);
    normalizeAxis(axis, x.shape.length, "RMSNormalization");
    if (!(epsilon > 0)) throw argumentError("RMSNormalization", `epsilon is ${epsilon}, needs to be above 0`);
    expectNormalized("RMSNormalization", operand("RMSNormalization", inputs, 1), x, axis, "scale");
    return [x];
  },
};
