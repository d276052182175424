/** Metrics of binary classification: scores against targets, which are 1 for an event and 0 for none. */
import { MpError, type Tensor } from "@mp/core";
import { cast, equal, greater, mul, reduceSum } from "@mp/core/ops";
import type { StreamedMetric, StreamedValues } from "@mp/core/report";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { anything } from "../option-kinds.js";
import { type PrecisionRecall, ratios } from "./classes.js";
import { expectInside, inFloat32, outside, samples, scalar, type WeightOptions } from "./parts.js";

/** Options of `binaryPrecisionRecall`. */
export interface BinaryOptions extends WeightOptions {
  /** Scores above this threshold count as events. Default 0, for logits; use 0.5 for probabilities. */
  readonly threshold?: number;
}

const BINARY = {
  sampleWeights: anything,
  threshold: withDefault(
    0,
    checks.claim("a finite number", (value) => Number.isFinite(value)),
  ),
};

const EVENTS = [0, 1] as const;
const outsideEvents = (what: string): string =>
  `${what}: targets are outside 0 … 1; they are 1 for an event and 0 for none, map -1 to 0`;

/**
 * Precision, recall, F1 and accuracy of scores [...] against targets of the same shape, 1 for an event and 0 for none
 * (a float, an integer or bool). A score of NaN never counts as an event.
 * @throws MP_INVALID_ARGUMENT for a value that is not a tensor, MP_SHAPE_MISMATCH for shapes that differ; the result
 *   throws MP_OUT_OF_RANGE for targets with weight outside 0 … 1
 */
export function binaryPrecisionRecall(
  scores: Tensor,
  targets: Tensor,
  options: BinaryOptions = {},
): StreamedMetric<PrecisionRecall & { readonly accuracy: number }> {
  const read = readOptions("binaryPrecisionRecall", options, BINARY, { example: "{ threshold: 0.5 }" });
  return {
    sums: inFloat32(() => {
      const { scores: s, targets: t, w } = samples("binaryPrecisionRecall", { scores, targets }, read);
      const taken = cast(greater(cast(s, "f32"), read.threshold), "f32");
      const is = cast(t, "f32");
      return {
        hits: reduceSum(mul(mul(taken, is), w)),
        taken: reduceSum(mul(taken, w)),
        actual: reduceSum(mul(is, w)),
        right: reduceSum(mul(cast(equal(taken, is), "f32"), w)),
        total: reduceSum(w),
        outside: outside(is, EVENTS, w),
      };
    }),
    result: (values) => {
      expectInside(values, outsideEvents("binaryPrecisionRecall"));
      const [hits, taken, actual, right, total] = ["hits", "taken", "actual", "right", "total"].map((name) =>
        scalar(values, name),
      ) as [number, number, number, number, number];
      return { ...ratios(hits, taken, actual), accuracy: right / total };
    },
  };
}

/**
 * Area under the curve of true against false positives: the probability that an event has a higher score than
 * a non-event, where ties count half. Exact, not by thresholds: the host keeps 24 bytes per sample and sorts
 * the samples. NaN without events or without non-events.
 * @throws as `binaryPrecisionRecall`
 */
export function rocAuc(scores: Tensor, targets: Tensor, options: WeightOptions = {}): StreamedMetric {
  return rankMetric("rocAuc", scores, targets, options, (steps) => {
    let [area, events, others] = [0, 0, 0];
    for (const [event, other] of steps) {
      area += other * (events + event / 2);
      events += event;
      others += other;
    }
    return area / (events * others);
  });
}

/**
 * Area under the curve of precision against recall, as a sum of steps (average precision): the mean of the
 * precision at each event, without interpolation. Exact; needs memory like `rocAuc`. NaN without events.
 * @throws as `binaryPrecisionRecall`
 */
export function averagePrecision(
  scores: Tensor,
  targets: Tensor,
  options: WeightOptions = {},
): StreamedMetric {
  return rankMetric("averagePrecision", scores, targets, options, (steps) => {
    let [area, events, all] = [0, 0, 0];
    for (const [event, other] of steps) {
      events += event;
      all += event + other;
      if (event > 0) area += (event * events) / all;
    }
    return area / events;
  });
}

type Step = readonly [events: number, others: number];

/** Makes a metric from the weights of events and non-events at each score, from the highest down. */
function rankMetric(
  what: string,
  scores: Tensor,
  targets: Tensor,
  options: WeightOptions,
  result: (steps: readonly Step[]) => number,
): StreamedMetric {
  readOptions(what, options, { sampleWeights: anything }, { example: "{ sampleWeights }" });
  return {
    rows: inFloat32(() => {
      const { scores: s, targets: t, w } = samples(what, { scores, targets }, options);
      return { scores: cast(s, "f32"), targets: cast(t, "f32"), weights: w };
    }),
    result: (values) => result(sortSteps(what, values)),
  };
}

function sortSteps(what: string, { scores, targets, weights }: StreamedValues): readonly Step[] {
  const counted = Array.from(scores?.keys() ?? []).filter((at) => weights?.[at] !== 0);
  const score = (at: number): number => scores?.[at] ?? Number.NaN;
  const [none, one] = EVENTS;
  if (counted.some((at) => !((targets?.[at] ?? none) >= none && (targets?.[at] ?? none) <= one))) {
    throw new MpError("MP_OUT_OF_RANGE", outsideEvents(what));
  }
  if (counted.some((at) => Number.isNaN(score(at)))) return [[Number.NaN, Number.NaN]];
  const steps: [number, number][] = [];
  let latest: number | undefined;
  for (const at of counted.sort((a, b) => score(b) - score(a))) {
    if (score(at) !== latest) steps.push([0, 0]);
    latest = score(at);
    const step = steps.at(-1) as [number, number];
    const [event = 0, weight = 0] = [targets?.[at], weights?.[at]];
    step[0] += event * weight;
    step[1] += (1 - event) * weight;
  }
  return steps;
}
