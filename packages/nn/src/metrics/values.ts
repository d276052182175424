/** Metrics of real numbers: means, and errors of predictions. */
import type { Tensor } from "@mp/core";
import { abs, cast, div, equal, mul, reduceSum, reshape, sub, where } from "@mp/core/ops";
import type { StreamedMetric } from "@mp/core/report";
import { readOptions } from "@mp/graph/internal";
import { anything } from "../option-kinds.js";
import { inFloat32, samples, scalar, type WeightOptions, weightedSum } from "./parts.js";

const check = (what: string, options: WeightOptions): void => {
  readOptions(what, options, { sampleWeights: anything }, { example: "{ sampleWeights }" });
};

/**
 * Mean over all elements of values [...] of any dtype, such as losses with `reduction: "none"`.
 * @throws MP_INVALID_ARGUMENT for a value that is not a tensor, MP_SHAPE_MISMATCH for weights of another shape
 */
export function mean(values: Tensor, options: WeightOptions = {}): StreamedMetric {
  check("mean", options);
  return meanMetric(() => {
    const { values: each, w } = samples("mean", { values }, options);
    return [cast(each, "f32"), w];
  });
}

/** Mean of |prediction - target| over all elements. @throws as `mean`, also for shapes that differ */
export function meanAbsoluteError(
  predictions: Tensor,
  targets: Tensor,
  options: WeightOptions = {},
): StreamedMetric {
  return errors("meanAbsoluteError", predictions, targets, options, abs);
}

/** Mean of (prediction - target)² over all elements. @throws as `mean`, also for shapes that differ */
export function meanSquaredError(
  predictions: Tensor,
  targets: Tensor,
  options: WeightOptions = {},
): StreamedMetric {
  return errors("meanSquaredError", predictions, targets, options, (d) => mul(d, d));
}

function errors(
  what: string,
  predictions: Tensor,
  targets: Tensor,
  options: WeightOptions,
  of: (difference: Tensor) => Tensor,
): StreamedMetric {
  check(what, options);
  return meanMetric(() => {
    const { predictions: p, targets: t, w } = samples(what, { predictions, targets }, options);
    return [of(sub(cast(p, "f32"), cast(t, "f32"))), w];
  });
}

function meanMetric(statistics: () => readonly [each: Tensor, w: Tensor]): StreamedMetric {
  return {
    sums: inFloat32(() => {
      const [each, w] = statistics();
      return { sum: weightedSum(each, w), total: reduceSum(w) };
    }),
    result: (values) => scalar(values, "sum") / scalar(values, "total"),
  };
}

/**
 * R², the fraction of the targets' variance that predictions explain, over all elements: 1 at best, 0 for
 * always predicting the targets' mean, below 0 for worse; not finite if the targets do not vary. Variances
 * are merged batch by batch, so that nothing cancels if the mean is large compared to the variance.
 * @throws as `mean`, also for shapes that differ
 */
export function rSquared(predictions: Tensor, targets: Tensor, options: WeightOptions = {}): StreamedMetric {
  check("rSquared", options);
  return {
    rows: inFloat32(() => {
      const { predictions: p, targets: t, w } = samples("rSquared", { predictions, targets }, options);
      const [prediction, target] = [cast(p, "f32"), cast(t, "f32")];
      const total = reduceSum(w);
      const center = div(weightedSum(target, w), where(equal(total, 0), 1, total));
      const [residual, deviation] = [sub(prediction, target), sub(target, center)];
      const row = (value: Tensor): Tensor => reshape(value, [1]);
      return {
        totals: row(total),
        centers: row(center),
        residuals: row(weightedSum(mul(residual, residual), w)),
        deviations: row(weightedSum(mul(deviation, deviation), w)),
      };
    }),
    result: ({ totals = none, centers = none, residuals = none, deviations = none }) => {
      const center = sum(totals, (total, at) => total * (centers[at] ?? 0)) / sum(totals);
      const between = sum(totals, (total, at) => total * ((centers[at] ?? 0) - center) ** 2);
      return 1 - sum(residuals) / (sum(deviations) + between);
    },
  };
}

const none = new Float64Array();

function sum(values: Float64Array, of: (value: number, at: number) => number = (value) => value): number {
  return values.reduce((sum, value, at) => sum + of(value, at), 0);
}
