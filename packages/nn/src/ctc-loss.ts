import { autocast, castingPolicy, type Tensor, tensor } from "@mp/core";
import {
  add,
  and,
  asTensor,
  cast,
  concat,
  constant,
  div,
  equal,
  exp,
  expand,
  gatherElements,
  less,
  literal,
  log,
  logSoftmax,
  maximum,
  neg,
  not,
  range,
  reshape,
  scan,
  slice,
  stopGradient,
  sub,
  unsqueeze,
  where,
} from "@mp/core/ops";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { invalid, mismatch } from "./errors.js";
import { REDUCTION, type ReductionOptions, reduceLoss } from "./loss-reduction.js";

/**
 * Options of `ctcLoss`; a sample is a sequence. `mean` (default) first divides the loss of each sequence by
 * the number of its labels, as in PyTorch.
 */
export interface CtcLossOptions extends ReductionOptions {
  /** The blank class; default 0. */
  readonly blank?: number;
  /** Whether a sequence too short for its labels has loss 0 without gradient, instead of infinity; default false. */
  readonly zeroInfinity?: boolean;
}

export interface CtcTargets {
  /** i32 [batch, most labels]; padding after the labels is ignored, but must be a class. */
  readonly labels: Tensor;
  /** i32 [batch], each from 0 to most labels. */
  readonly labelLengths: Tensor;
  /** i32 [batch], each from 1 to time; default: time for all. */
  readonly inputLengths?: Tensor;
}

const CTC_LOSS = {
  blank: withDefault(
    0,
    checks.claim("an integer ≥ 0", (blank) => Number.isSafeInteger(blank) && Number(blank) >= 0),
  ),
  zeroInfinity: withDefault(false, checks.truth),
  ...REDUCTION,
};

/** Replaces log 0 by a finite number, so that differences and gradients are finite. */
const NEVER = -1e30;
const IN_F32 = castingPolicy({ compute: "f32" });

/**
 * Connectionist temporal classification (Graves et al. 2006): the negative log-likelihood of a label sequence
 * over all alignments with the time steps of logits [time, batch, classes]. Computed in f32 under any policy,
 * by a loop over time.
 * @throws MP_INVALID_ARGUMENT for a value that is not a tensor or a blank that is not a class
 * @throws MP_SHAPE_MISMATCH for logits that are not [time, batch, classes], or targets of another batch size
 */
export function ctcLoss(logits: Tensor, targets: CtcTargets, options: CtcLossOptions = {}): Tensor {
  const { blank, zeroInfinity, ...read } = readOptions("ctcLoss", options, CTC_LOSS, {
    example: "{ blank: 0 }",
  });
  const { labels, labelLengths, inputLengths } = targets;
  expectTargets(logits, targets, blank);
  const each = autocast((scores: Tensor): Tensor => {
    const likelihood = logLikelihood(
      logSoftmax(cast(scores, "f32")),
      labels,
      labelLengths,
      inputLengths,
      blank,
    );
    const isPossible = less(NEVER / 2, likelihood);
    return where(isPossible, neg(likelihood), zeroInfinity ? 0 : Number.POSITIVE_INFINITY);
  }, IN_F32)(logits);
  const isMean = read.reduction === "mean";
  return reduceLoss("ctcLoss", isMean ? div(each, maximum(cast(labelLengths, "f32"), 1)) : each, read);
}

/** The log-likelihoods [batch]: logarithms of the forward variables (eq. 6) at the end of each sequence. */
function logLikelihood(
  logProbabilities: Tensor,
  labels: Tensor,
  labelLengths: Tensor,
  inputLengths: Tensor | undefined,
  blank: number,
): Tensor {
  const [time = 0, batch = 0] = logProbabilities.shape;
  const most = labels.shape[1] ?? 0;
  const states = 2 * most + 1;
  // The labels with blanks around and between them.
  const blanks = expand(literal(blank, "i32"), [batch, most, 1]);
  const path = concat(
    [
      reshape(concat([blanks, unsqueeze(labels, [2])], 2), [batch, 2 * most]),
      expand(literal(blank, "i32"), [batch, 1]),
    ],
    1,
  );
  const emitted = gatherElements(logProbabilities, expand(unsqueeze(path, [0]), [time, batch, states]), 2);
  const skip = skips(path, blank);
  const start = expand(where(equal(range(0, states), 0), literal(0), NEVER), [batch, states]);
  const steps = { emitted, ...(inputLengths === undefined ? {} : { now: range(0, time) }) };
  const [end] = scan(
    (before: Tensor, { emitted: scores, now }: { readonly emitted: Tensor; readonly now?: Tensor }) => {
      const skipped = where(skip, shift(before, 2), NEVER);
      const after = add(logSumExp([before, shift(before, 1), skipped]), scores);
      if (now === undefined || inputLengths === undefined) return [after, []];
      return [where(unsqueeze(less(now, inputLengths), [1]), after, before), []];
    },
    start,
    steps,
  );
  const last = (back: number): Tensor => {
    const place = sub(add(labelLengths, labelLengths), back);
    const at = unsqueeze(maximum(place, 0), [1]);
    return reshape(gatherElements(end, at, 1), [batch]);
  };
  // A sequence without labels ends in its one blank.
  const label = where(equal(labelLengths, 0), NEVER, last(1));
  return logSumExp([last(0), label]);
}

/** Whether the path may skip the blank before each state, that is, whether its label differs from the label before. */
function skips(path: Tensor, blank: number): Tensor {
  const [batch = 0, states = 0] = path.shape;
  if (states < 3) return expand(constant(tensor(Uint8Array.of(0), [1, 1], "bool")), [batch, states]);
  const isLabel = not(equal(path, blank));
  const before = concat(
    [slice(path, [{ axis: 1, start: 0, end: 2 }]), slice(path, [{ axis: 1, start: 0, end: states - 2 }])],
    1,
  );
  return and(isLabel, not(equal(path, before)));
}

/** Shifts states to the right by `by` positions; the states that enter have probability 0. */
function shift(x: Tensor, by: number): Tensor {
  const [batch = 0, states = 0] = x.shape;
  const never = expand(literal(NEVER), [batch, Math.min(by, states)]);
  return states <= by ? never : concat([never, slice(x, [{ axis: 1, start: 0, end: states - by }])], 1);
}

function logSumExp(terms: readonly Tensor[]): Tensor {
  const largest = stopGradient(terms.reduce((a, b) => maximum(a, b)));
  return add(largest, log(terms.map((term) => exp(sub(term, largest))).reduce((a, b) => add(a, b))));
}

function expectTargets(logits: Tensor, targets: CtcTargets, blank: number): void {
  const { labels, labelLengths, inputLengths } = targets;
  const all = { logits, labels, labelLengths, ...(inputLengths === undefined ? {} : { inputLengths }) };
  for (const [name, value] of Object.entries(all)) asTensor(value, `ctcLoss: ${name}`);
  const [, batch, classes = 0] = logits.shape;
  const shapes = (name: string, tensor: Tensor, wanted: string, isRight: boolean): void => {
    if (isRight) return;
    throw mismatch(`ctcLoss: ${name} must be ${wanted}, got [${tensor.shape.join(", ")}]`);
  };
  shapes("logits", logits, "[time, batch, classes]", logits.shape.length === 3);
  shapes("labels", labels, `[${batch}, most labels]`, labels.shape.length === 2 && labels.shape[0] === batch);
  shapes("labelLengths", labelLengths, `[${batch}]`, labelLengths.shape.join() === `${batch}`);
  if (inputLengths !== undefined)
    shapes("inputLengths", inputLengths, `[${batch}]`, inputLengths.shape.join() === `${batch}`);
  if (blank < classes) return;
  throw invalid(`ctcLoss: blank is ${blank}, the classes are 0 … ${classes - 1}`);
}
