/** Metrics of classification: accuracies, perplexity, confusion, precision and recall. */

import type { Tensor } from "@mp/core";
import {
  cast,
  equal,
  matMul,
  mul,
  oneHot,
  reduceSum,
  softmaxCrossEntropyLoss,
  topK,
  transpose,
  unsqueeze,
} from "@mp/core/ops";
import type { StreamedMetric } from "@mp/core/report";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { invalid } from "../errors.js";
import {
  type ClassOptions,
  classify,
  classTable,
  inFloat32,
  ofClasses,
  scalar,
  weightedSum,
} from "./parts.js";

const EXAMPLE = "{ ignoreIndex: -1 }";

/**
 * Fraction, 0 … 1, of labels i32 or i64 [...] whose logit is the largest among [..., classes]; of equal
 * logits the first counts.
 * @throws MP_INVALID_ARGUMENT for a value that is not a tensor, MP_SHAPE_MISMATCH for shapes that do not fit; the
 *   result throws MP_OUT_OF_RANGE for labels with weight that are not classes
 */
export function accuracy(logits: Tensor, labels: Tensor, options: ClassOptions = {}): StreamedMetric {
  const read = readOptions("accuracy", options, classTable, { example: EXAMPLE });
  return share("accuracy", () => {
    const { predicted, labels: classOf, w, outside } = classify("accuracy", logits, labels, read);
    return { found: cast(equal(predicted, classOf), "f32"), w, outside };
  });
}

/**
 * Fraction, 0 … 1, of labels whose logit is among the k largest.
 * @throws as `accuracy`, and MP_INVALID_ARGUMENT for a k that is not from 1 to the number of classes
 */
export function topKAccuracy(
  logits: Tensor,
  labels: Tensor,
  k: number,
  options: ClassOptions = {},
): StreamedMetric {
  const read = readOptions("topKAccuracy", options, classTable, { example: EXAMPLE });
  return share("topKAccuracy", () => {
    const given = classify("topKAccuracy", logits, labels, read);
    const { logits: rows, labels: classOf, w, classes, outside } = given;
    if (!Number.isSafeInteger(k) || k < 1 || k > classes) {
      throw invalid(`topKAccuracy: k must be an integer from 1 to ${classes}, got ${k}`);
    }
    const hits = cast(equal(topK(rows, k).indices, unsqueeze(classOf, [-1])), "f32");
    return { found: reduceSum(hits, { axes: [-1] }), w, outside };
  });
}

function share(
  what: string,
  statistics: () => { readonly found: Tensor; readonly w: Tensor; readonly outside: Tensor },
): StreamedMetric {
  return {
    sums: inFloat32(() => {
      const { found, w, outside } = statistics();
      return { found: reduceSum(mul(found, w)), total: reduceSum(w), outside };
    }),
    result: ofClasses(what, (values) => scalar(values, "found") / scalar(values, "total")),
  };
}

/**
 * Exponential of the mean cross entropy, in nats, of logits [..., classes] against labels [...]: the number
 * of equally likely classes that would be as hard to guess. The best value is 1.
 * @throws as `accuracy`
 */
export function perplexity(logits: Tensor, labels: Tensor, options: ClassOptions = {}): StreamedMetric {
  const read = readOptions("perplexity", options, classTable, { example: EXAMPLE });
  return {
    sums: inFloat32(() => {
      const { logits: rows, labels: classOf, w } = classify("perplexity", logits, labels, read);
      const entropies = softmaxCrossEntropyLoss(cast(rows, "f32"), classOf, { reduction: "none" });
      return { entropy: weightedSum(entropies, w), total: reduceSum(w) };
    }),
    result: (values) => Math.exp(scalar(values, "entropy") / scalar(values, "total")),
  };
}

/**
 * Counts labels (rows) by predicted class (columns): element [i][j] is the total weight of the samples of class i
 * whose largest logit is that of class j.
 * @throws as `accuracy`
 */
export function confusionMatrix(
  logits: Tensor,
  labels: Tensor,
  options: ClassOptions = {},
): StreamedMetric<readonly (readonly number[])[]> {
  const read = readOptions("confusionMatrix", options, classTable, { example: EXAMPLE });
  return {
    sums: inFloat32(() => {
      const given = classify("confusionMatrix", logits, labels, read);
      const { labels: classOf, predicted, w, classes, outside } = given;
      const weighted = mul(oneHot(classOf, classes), unsqueeze(w, [-1]));
      return { matrix: matMul(transpose(weighted), oneHot(predicted, classes)), outside };
    }),
    result: ofClasses("confusionMatrix", ({ matrix = new Float64Array() }) => {
      const classes = Math.sqrt(matrix.length);
      return Array.from({ length: classes }, (_, row) => [
        ...matrix.subarray(row * classes, (row + 1) * classes),
      ]);
    }),
  };
}

/**
 * Precision: the fraction of the predictions of a class that are right. Recall: the fraction of the labels of
 * a class that were predicted. F1: the harmonic mean of both.
 */
export interface PrecisionRecall {
  /** 0 … 1; 0 if the class was never predicted. */
  readonly precision: number;
  /** 0 … 1; 0 if no label has the class. */
  readonly recall: number;
  /** 0 … 1; 0 if precision and recall are 0. */
  readonly f1: number;
}

export interface PrecisionRecallOptions extends ClassOptions {
  /**
   * `macro` (default): the mean over classes. `weighted`: the mean weighted by the number of labels of each
   * class. `micro`: from the counts of all classes together, which equals the accuracy.
   */
  readonly average?: "macro" | "weighted" | "micro";
}

const PRECISION_RECALL = {
  ...classTable,
  average: withDefault("macro", checks.oneOf("macro", "weighted", "micro")),
};

/**
 * Precision, recall and F1 of logits [..., classes] against labels [...], averaged and for each class.
 * @throws as `accuracy`
 */
export function precisionRecall(
  logits: Tensor,
  labels: Tensor,
  options: PrecisionRecallOptions = {},
): StreamedMetric<PrecisionRecall & { readonly classes: readonly PrecisionRecall[] }> {
  const read = readOptions("precisionRecall", options, PRECISION_RECALL, { example: '{ average: "micro" }' });
  return {
    sums: inFloat32(() => {
      const given = classify("precisionRecall", logits, labels, read);
      const { labels: classOf, predicted, w, classes, outside } = given;
      const [is, taken] = [classOf, predicted].map((each) => oneHot(each, classes)) as [Tensor, Tensor];
      const weighted = mul(is, unsqueeze(w, [-1]));
      return {
        hits: reduceSum(mul(weighted, taken), { axes: [0] }),
        actual: reduceSum(weighted, { axes: [0] }),
        taken: reduceSum(mul(taken, unsqueeze(w, [-1])), { axes: [0] }),
        outside,
      };
    }),
    result: ofClasses("precisionRecall", ({ hits = none, actual = none, taken = none }) => {
      const classes = [...hits].map((hit, at) => ratios(hit, taken[at] ?? 0, actual[at] ?? 0));
      if (read.average === "micro") return { ...ratios(total(hits), total(taken), total(actual)), classes };
      const shares = [...actual].map((count) => (read.average === "macro" ? 1 : count));
      const mean = (of: keyof PrecisionRecall): number =>
        ratio(
          classes.reduce((sum, each, at) => sum + each[of] * (shares[at] ?? 0), 0),
          total(shares),
        );
      return { precision: mean("precision"), recall: mean("recall"), f1: mean("f1"), classes };
    }),
  };
}

const none = new Float64Array();
const total = (values: Iterable<number>): number => [...values].reduce((sum, value) => sum + value, 0);
const ratio = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);

/** Computes the ratios from the weights of correct predictions, all predictions and all labels of a class. */
export function ratios(hits: number, taken: number, actual: number): PrecisionRecall {
  return { precision: ratio(hits, taken), recall: ratio(hits, actual), f1: ratio(2 * hits, taken + actual) };
}
