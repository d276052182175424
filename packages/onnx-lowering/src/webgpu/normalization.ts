import type { Shape } from "@mp/graph";
import { float, int, standardLowerings } from "@mp/onnx/write";
import { layerNormalization } from "../lowerings/normalization.js";
import { reshape } from "../lowerings/operators.js";
import { at, type OwnLowering, type OwnLoweringsOf, operandType } from "../lowerings/own-lowering.js";

/**
 * Restores NaN, which the kernel drops. A row with NaN or +∞, or with only -∞, becomes all NaN. The row's sum is NaN if
 * an element is NaN (or if the row has infinities of both signs); in the other cases the row's maximum is infinite.
 */
const softmax: OwnLowering<"Softmax"> = (node, operands, writer, standard) => {
  const { dtype } = operandType(node);
  const wide = writer.cast(at(operands, 0), "f32");
  const [sum, most] = ["ReduceSum", "ReduceMax"].map((op) =>
    writer.one(op, [wide, writer.ints([node.attributes.axis])], { keepdims: int(1) }),
  ) as [string, string];
  const infinity = writer.scalar(Number.POSITIVE_INFINITY, "f32");
  const largest = writer.one("Where", [writer.one("Equal", [sum, sum]), most, infinity]);
  const isNumber = writer.one("Less", [writer.one("Abs", [largest]), infinity]);
  return [writer.one("Where", [isNumber, at(standard(operands), 0), writer.scalar(Number.NaN, dtype)])];
};

/** x · scale / √(mean(x²) + ε) in f32, because ONNX's op is newer than the last opset of the provider's kernels. */
const rmsNormalization: OwnLowering<"RMSNormalization"> = (node, operands, writer) => {
  const { axis, epsilon } = node.attributes;
  const { shape, dtype } = operandType(node);
  const [x, scale] = [0, 1].map((index) => writer.cast(at(operands, index), "f32")) as [string, string];
  const axes = writer.ints(shape.flatMap((_, index) => (index < axis ? [] : [index])));
  const mean = writer.one("ReduceMean", [writer.one("Mul", [x, x]), axes], { keepdims: int(1) });
  const root = writer.one("Sqrt", [writer.one("Add", [mean, writer.scalar(epsilon, "f32")])]);
  const scaled = writer.one("Mul", [writer.one("Div", [x, root]), scale]);
  return [writer.cast(scaled, dtype)];
};

/**
 * Subtracts the mean, and then the mean of the differences, because the kernel's mean has a rounding error that is
 * large compared to the variance if the elements are far from 0.
 */
const batchNormalization: OwnLowering<"BatchNormalization"> = (node, operands, writer) => {
  const { shape, dtype } = operandType(node);
  const [x, scale, bias] = [0, 1, 2].map((index) => writer.cast(at(operands, index), "f32")) as [
    string,
    string,
    string,
  ];
  const [, channels = 1, ...rest] = shape;
  const column = [channels, ...rest.map(() => 1)];
  const each = (statistic: string): string =>
    rest.length === 0 ? statistic : writer.one("Reshape", [statistic, writer.ints(column)]);
  const axes = writer.ints([0, ...rest.map((_, index) => index + 2)]);
  const mean = (of: string): string => writer.one("ReduceMean", [of, axes], { keepdims: int(0) });
  const near = mean(x);
  const difference = writer.one("Sub", [x, each(near)]);
  const left = mean(difference);
  const spread = mean(writer.one("Mul", [difference, difference]));
  const variance = writer.one("Sub", [spread, writer.one("Mul", [left, left])]);
  // With two axes the kernel takes the first channel's statistics for all.
  const flat = rest.length === 0;
  const image = flat ? reshape(difference, [...shape, 1], writer) : difference;
  const y = writer.one("BatchNormalization", [image, scale, bias, left, variance], {
    epsilon: float(node.attributes.epsilon),
  });
  const whole = flat ? reshape(y, shape, writer) : y;
  return [writer.cast(whole, dtype), writer.one("Add", [near, left]), variance];
};

/** Adds an axis of size 1 to values of two axes, like `batchNormalization`. */
const batchNormalizationGradient: OwnLowering<"BatchNormalizationGradient"> = (node, operands, writer) => {
  const { shape } = operandType(node);
  if (shape.length > 2) return undefined;
  const deeper = <V extends { readonly shape: Shape }>(value: V): V =>
    value.shape.length === 2 ? { ...value, shape: [...value.shape, 1] } : value;
  const widened = { ...node, inputs: node.inputs.map(deeper), outputs: node.outputs.map(deeper) };
  const names = operands.map((name, index) =>
    node.inputs[index]?.shape.length === 2 ? reshape(name, [...shape, 1], writer) : name,
  );
  const [dx = "", ...others] = standardLowerings.BatchNormalizationGradient(widened, names, writer);
  return [reshape(dx, shape, writer), ...others];
};

export const normalizationLowerings: OwnLoweringsOf<"normalization" | "batch-normalization"> = {
  Softmax: softmax,
  LayerNormalization: layerNormalization,
  RMSNormalization: rmsNormalization,
  BatchNormalization: batchNormalization,
  BatchNormalizationGradient: batchNormalizationGradient,
};
