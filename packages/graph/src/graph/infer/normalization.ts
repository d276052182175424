import { broadcastShapes, formatShape, normalizeAxis, type Shape, sameShape } from "../../shape.js";
import type { Op } from "../attributes.js";
import type { OpOf, SoftmaxOp } from "../families.js";
import type { ValueType } from "../graph.js";
import {
  argumentError,
  expectDType,
  expectSameDType,
  type InferTable,
  operands,
  shapeError,
} from "./rule.js";

function alongAxis(op: SoftmaxOp) {
  return (inputs: readonly ValueType[], { axis }: { readonly axis: number }): readonly ValueType[] => {
    const [x] = operands(op, inputs, 1);
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
    const [x, scale] = operands("LayerNormalization", inputs, 2, 3);
    expectDType("LayerNormalization", x);
    expectSameDType("LayerNormalization", inputs);
    normalizeAxis(axis, x.shape.length, "LayerNormalization");
    if (!(epsilon > 0))
      throw argumentError("LayerNormalization", `epsilon is ${epsilon}, needs to be above 0`);
    expectNormalized("LayerNormalization", scale, x, axis, "scale");
    if (inputs[2] !== undefined) expectNormalized("LayerNormalization", inputs[2], x, axis, "bias");
    const statistics: ValueType = {
      dtype: "f32",
      shape: x.shape.map((dimension, index) => (index < axis ? dimension : 1)),
    };
    return [x, statistics, statistics];
  },
  RMSNormalization: (inputs, { axis, epsilon }) => {
    const [x, scale] = operands("RMSNormalization", inputs, 2);
    expectDType("RMSNormalization", x);
    expectSameDType("RMSNormalization", inputs);
    normalizeAxis(axis, x.shape.length, "RMSNormalization");
    if (!(epsilon > 0)) throw argumentError("RMSNormalization", `epsilon is ${epsilon}, needs to be above 0`);
    expectNormalized("RMSNormalization", scale, x, axis, "scale");
    return [x];
  },
};
