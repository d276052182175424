import type { OpOf } from "../../graph/families.js";
import { emitAll } from "../../trace/emit.js";
import { add, mul, sub } from "../../trace/ops/binary.js";
import { reshape } from "../../trace/ops/movement.js";
import type { Tensor } from "../../trace/tensor.js";
import { type GradientRule, type GradientTable, narrow, wide, zeroGradient } from "./rule.js";

/**
 * One node computes all three gradients, since engines have a kernel that does. Gradients that reach the statistics
 * themselves are added to dx: d mean/dx = 1/n and d variance/dx = 2 · (x - mean)/n.
 */
const batchNormalizationGradient: GradientRule<"BatchNormalization"> = (site) => {
  const { attributes, gradient, input, inputType, output, receives, needs } = site;
  const type = inputType(0);
  const [dx, dscale, dbias] = receives(0)
    ? emitAll(
        "BatchNormalizationGradient",
        [gradient(0), input(0), input(1), output(1), output(2)],
        attributes,
      )
    : [];

  const ofStatistics = (): readonly Tensor[] => {
    const channels = [type.shape[1] ?? 1, ...type.shape.slice(2).map(() => 1)];
    const count = type.shape.reduce((product, size, axis) => (axis === 1 ? product : product * size), 1);
    const each = (statistic: Tensor): Tensor => reshape(statistic, channels);
    const fromMean = receives(1) ? [each(mul(gradient(1), 1 / count))] : [];
    if (!receives(2)) return fromMean;
    const difference = sub(wide(input(0)), each(output(1)));
    return [...fromMean, mul(difference, each(mul(gradient(2), 2 / count)))];
  };
  const forX = (): Tensor | undefined => {
    if (!receives(1) && !receives(2)) return dx;
    const own = wide(dx ?? zeroGradient(type));
    return narrow(
      ofStatistics().reduce((sum, part) => add(sum, part), own),
      type,
    );
  };
  return [
    needs(0) ? forX() : undefined,
    dscale && narrow(dscale, inputType(1)),
    dbias && narrow(dbias, inputType(2)),
  ];
};

export const batchNormalizationGradients: GradientTable<OpOf<"batch-normalization">> = {
  BatchNormalization: batchNormalizationGradient,
  BatchNormalizationGradient: {
    notDifferentiable: "second derivatives through batch normalization are not there",
  },
};
