/** Statistics and sums of each channel are in f32; the variance comes from squared differences. */
import type { OpOf } from "@mp/graph";
import type { Emitter } from "../emitter.js";
import { inF32, type Lowering, type LoweringTable } from "../lowering.js";
import { count, type Operand, range, rankOf, shapeOf, sizeOf } from "../operand.js";
import { inverseDeviation, square } from "./normalization.js";

const otherAxes = (x: Operand): readonly number[] => range(rankOf(x)).filter((axis) => axis !== 1);

const channelSum = (emitter: Emitter, x: Operand): Operand => emitter.reduce("add", x, otherAxes(x));

/** Sums [C] over the number of elements in a channel of x. */
const perElement = (emitter: Emitter, sums: Operand, x: Operand): Operand =>
  emitter.divide(sums, emitter.like(sums, count(otherAxes(x).map((axis) => sizeOf(x, axis)))));

/** x combined with the value of its channel. */
const apply = (
  emitter: Emitter,
  operation: "add" | "subtract" | "multiply",
  x: Operand,
  channels: Operand,
): Operand => emitter.binary(operation, x, emitter.broadcast(channels, shapeOf(x), [1]));

const batchNormalization: Lowering<"BatchNormalization"> = (emitter, { attributes }, [x, scale, bias]) => {
  const mean = perElement(emitter, channelSum(emitter, x), x);
  const difference = apply(emitter, "subtract", x, mean);
  const variance = perElement(emitter, channelSum(emitter, square(emitter, difference)), x);
  const inverse = inverseDeviation(emitter, variance, attributes.epsilon);
  const scaled = apply(emitter, "multiply", apply(emitter, "multiply", difference, inverse), scale);
  return [apply(emitter, "add", scaled, bias), mean, variance];
};

/** dx = scale · r · (dy - Σdy/n - (x - mean) · r² · Σ(dy · (x - mean))/n), r = 1 / √(variance + ε). */
const batchNormalizationGradient: Lowering<"BatchNormalizationGradient"> = (
  emitter,
  { attributes },
  [dy, x, scale, mean, variance],
) => {
  const inverse = inverseDeviation(emitter, variance, attributes.epsilon);
  const difference = apply(emitter, "subtract", x, mean);
  const shift = channelSum(emitter, dy);
  const slope = emitter.binary(
    "multiply",
    channelSum(emitter, emitter.binary("multiply", dy, difference)),
    inverse,
  );
  const meanSlope = emitter.binary("multiply", perElement(emitter, slope, x), inverse);
  const centered = apply(emitter, "subtract", dy, perElement(emitter, shift, x));
  const rest = emitter.binary("subtract", centered, apply(emitter, "multiply", difference, meanSlope));
  return [apply(emitter, "multiply", rest, emitter.binary("multiply", inverse, scale)), slope, shift];
};

export const batchNormalizationLowerings: LoweringTable<OpOf<"batch-normalization">> = {
  BatchNormalization: inF32(batchNormalization),
  BatchNormalizationGradient: inF32(batchNormalizationGradient),
};
