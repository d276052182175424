/** Batch normalization. Statistics are f32 [1, C, 1…]; the variance is the mean of squared differences. */
import type { OpOf } from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import { sumTogether } from "../stablehlo/fold.js";
import { count, type Operand, range, rankOf, shapeOf, sizeOf } from "../stablehlo/operand.js";
import { inF32, type Lowering, type LoweringTable, type Operands } from "./lowering.js";
import { apply, average, inverseDeviation, mean, square } from "./normalization.js";

/** The axes of x over which each channel is averaged: all but the second. */
const ownAxes = (x: Operand): readonly number[] => range(rankOf(x)).filter((axis) => axis !== 1);

/** Reshapes statistics from [C] to [1, C, 1…], to broadcast to x. */
const lift = (emitter: Emitter, values: Operand, x: Operand): Operand =>
  emitter.reshape(
    values,
    shapeOf(x).map((size, axis) => (axis === 1 ? size : 1)),
  );

const batchNormalization: Lowering<"BatchNormalization"> = (emitter, { attributes }, [x, scale, bias]) => {
  const center = mean(emitter, x, ownAxes(x));
  const difference = apply(emitter, "subtract", x, center);
  const variance = mean(emitter, square(emitter, difference), ownAxes(x));
  const inverse = inverseDeviation(emitter, variance, attributes.epsilon);
  const normal = apply(emitter, "multiply", difference, inverse);
  const scaled = apply(emitter, "multiply", normal, lift(emitter, scale, x));
  const y = apply(emitter, "add", scaled, lift(emitter, bias, x));
  return [y, ...[center, variance].map((values) => emitter.reshape(values, [sizeOf(x, 1)]))];
};

/** dx = scale · r · (dy - Σdy/n - (x - mean) · r² · Σ(dy · (x - mean))/n), r = 1 / √(variance + ε). */
const batchNormalizationGradient: Lowering<"BatchNormalizationGradient"> = (
  emitter,
  { attributes },
  [dy, x, ...perChannel],
) => {
  const [scale, center, variance] = perChannel.map((values) =>
    lift(emitter, values, x),
  ) as unknown as Operands;
  const inverse = inverseDeviation(emitter, variance, attributes.epsilon);
  const difference = apply(emitter, "subtract", x, center);
  const products = emitter.binary("multiply", dy, difference);
  const sums = sumTogether(emitter, [products, dy], ownAxes(x));
  const terms = count(shapeOf(x)) / sizeOf(x, 1);
  const [productMean, dyMean] = sums.map((sum) => average(emitter, lift(emitter, sum, x), terms)) as [
    Operand,
    Operand,
  ];
  const slope = emitter.binary("multiply", productMean, square(emitter, inverse));
  const centered = apply(emitter, "subtract", dy, dyMean);
  const rest = emitter.binary("subtract", centered, apply(emitter, "multiply", difference, slope));
  const dx = apply(emitter, "multiply", rest, emitter.binary("multiply", inverse, scale));
  const [productSum, dySum] = sums as [Operand, Operand];
  const dscale = emitter.binary("multiply", productSum, emitter.reshape(inverse, [sizeOf(x, 1)]));
  return [dx, dscale, dySum];
};

export const batchNormalizationLowerings: LoweringTable<OpOf<"batch-normalization">> = {
  BatchNormalization: inF32(batchNormalization),
  BatchNormalizationGradient: inF32(batchNormalizationGradient),
};
