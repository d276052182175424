import type { OpOf } from "../../graph/families.js";
import { elementCount } from "../../shape.js";
import { add, div, equal, mul, sub, where } from "../../trace/ops/binary.js";
import { gather, gatherElements, scatterElements, scatterND } from "../../trace/ops/indexing.js";
import { expand, reshape, unsqueeze } from "../../trace/ops/movement.js";
import { reduceSum } from "../../trace/ops/reduce.js";
import { literal } from "../../trace/ops/source.js";
import { exp, neg } from "../../trace/ops/unary.js";
import type { Tensor } from "../../trace/tensor.js";
import {
  type GradientRule,
  type GradientSite,
  type GradientTable,
  narrow,
  wide,
  zeroGradient,
} from "./rule.js";

type Site = GradientSite<OpOf<"loss">>;

/**
 * The loss is a sum or mean of w[label] · nll over the labels that are not ignored, nll = -logp[label]. Both rules put
 * each label's factor f = dL/d nll at the label's class; for `mean`, f = g · w[label] / Σ w[label].
 */
interface Labels {
  /** i32 [N, 1, d…]; ignored labels point at class 0, with factor 0. */
  readonly columns: Tensor;
  /** f32; a scalar if all labels have the same factor, otherwise [N, d…]. */
  readonly factor: Tensor;
  /** The factor without the label's own weight: g, for `mean` divided by the sum of the weights. */
  readonly base: Tensor;
  readonly masked: (perLabel: Tensor) => Tensor;
}

function readLabels({ attributes, gradient, input, inputTypes }: Site): Labels {
  const { reduction, ignoreIndex } = attributes;
  const labels = input(1);
  const ignored = ignoreIndex === undefined ? undefined : equal(labels, ignoreIndex);
  const maskIgnored = (x: Tensor): Tensor => (ignored === undefined ? x : where(ignored, 0, x));
  const safe = maskIgnored(labels);
  const weight = inputTypes.length > 2 ? gather(wide(input(2)), safe) : undefined;
  const g = wide(gradient(0));
  const total = (): Tensor | number =>
    weight === undefined && ignored === undefined
      ? elementCount(labels.shape, "SoftmaxCrossEntropyLoss")
      : reduceSum(maskIgnored(weight ?? literal(1)));
  const base = reduction === "mean" ? div(g, total()) : g;
  return {
    columns: unsqueeze(safe, [1]),
    factor: maskIgnored(weight === undefined ? base : mul(weight, base)),
    base,
    masked: maskIgnored,
  };
}

const asColumn = (factor: Tensor): Tensor => (factor.shape.length === 0 ? factor : unsqueeze(factor, [1]));

/** dL/dw[c]: the sum of base · nll over the labels c; for `mean`, of base · (nll - loss). */
function weightGradient(site: Site, { columns, base, masked }: Labels, logProbabilities: Tensor): Tensor {
  const labelShape = site.inputType(1).shape;
  const nll = neg(reshape(gatherElements(wide(logProbabilities), columns, 1), labelShape));
  const excess = site.attributes.reduction === "mean" ? sub(nll, wide(site.output(0))) : nll;
  const parts = masked(mul(excess, base));
  const positions = reshape(columns, [...labelShape, 1]);
  const zeros = zeroGradient({ dtype: "f32", shape: site.inputType(2).shape });
  return scatterND(zeros, positions, parts, { reduction: "add" });
}

/**
 * dL/d scores = (softmax - onehot) · f in three passes over [N, C]: exp of the saved log-probabilities,
 * -1 scattered to the labels, and the product with f.
 */
const softmaxCrossEntropyGradient: GradientRule<"SoftmaxCrossEntropyLoss"> = (site) => {
  const { gradient, inputType, needs, output, receives } = site;
  const weights = site.inputTypes[2];
  const labels = receives(0) ? readLabels(site as unknown as Site) : undefined;

  const forScores = (): Tensor | undefined => {
    const probabilities = exp(wide(output(1)));
    let sum: Tensor | undefined;
    if (labels !== undefined) {
      const minusOne = expand(literal(-1), labels.columns.shape);
      const errors = scatterElements(probabilities, labels.columns, minusOne, { axis: 1, reduction: "add" });
      sum = mul(errors, asColumn(labels.factor));
    }
    if (receives(1)) {
      const g = wide(gradient(1));
      const through = sub(g, mul(probabilities, reduceSum(g, { axes: [1], keepdims: true })));
      sum = sum === undefined ? through : add(sum, through);
    }
    return sum === undefined ? undefined : narrow(sum, inputType(0));
  };
  return [
    needs(0) ? forScores() : undefined,
    undefined,
    weights !== undefined && needs(2) && labels !== undefined
      ? narrow(weightGradient(site as unknown as Site, labels, output(1)), weights)
      : undefined,
  ];
};

/** dL/d logp is -f at the labels and 0 elsewhere. */
const negativeLogLikelihoodGradient: GradientRule<"NegativeLogLikelihoodLoss"> = (site) => {
  const { input, needs } = site;
  const [scores, weights] = [site.inputType(0), site.inputTypes[2]];
  const labels = readLabels(site as unknown as Site);
  const forScores = (): Tensor => {
    const updates = expand(asColumn(neg(labels.factor)), labels.columns.shape);
    const zeros = zeroGradient({ dtype: "f32", shape: scores.shape });
    return narrow(scatterElements(zeros, labels.columns, updates, { axis: 1 }), scores);
  };
  return [
    needs(0) ? forScores() : undefined,
    undefined,
    weights !== undefined && needs(2)
      ? narrow(weightGradient(site as unknown as Site, labels, input(0)), weights)
      : undefined,
  ];
};

export const lossGradients: GradientTable<OpOf<"loss">> = {
  SoftmaxCrossEntropyLoss: softmaxCrossEntropyGradient,
  NegativeLogLikelihoodLoss: negativeLogLikelihoodGradient,
};
