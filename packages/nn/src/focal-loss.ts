import type { Tensor } from "@mp/core";
import { add, cast, exp, mul, neg, softplus, sub } from "@mp/core/ops";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { expectAlike, expectFloatLogits } from "./check-tensor.js";
import { REDUCTION, type ReductionOptions, reduceLoss } from "./loss-reduction.js";

/** Options of `sigmoidFocalLoss`. For a detector, use `sum` and divide by the number of matched boxes. */
export interface FocalLossOptions extends ReductionOptions {
  /** Weight of targets 1; targets 0 have the weight 1 - alpha. Default 0.25; with 0.5, both are equal. */
  readonly alpha?: number;
  /** Exponent that lowers the weight of well-classified elements; 0 leaves their weight unchanged. Default 2. */
  readonly gamma?: number;
}

const FOCAL_LOSS = {
  alpha: withDefault(0.25, checks.share),
  gamma: withDefault(
    2,
    checks.claim("a finite number ≥ 0", (gamma) => Number.isFinite(gamma) && Number(gamma) >= 0),
  ),
  ...REDUCTION,
};

/**
 * Focal loss (Lin et al., arXiv 1708.02002) of logits [...] against targets of the same shape, 1 or 0 (a
 * float, an integer or bool): cross entropy times (1 - p)^gamma, where p is the probability of the true
 * class. Computed in f32 under any policy. The power is computed from softplus, so that it is accurate for
 * logits of any size.
 * @throws MP_INVALID_ARGUMENT for a value that is not a tensor or an option out of range, MP_DTYPE_MISMATCH for
 *   logits that are not floats, MP_SHAPE_MISMATCH for shapes that differ
 */
export function sigmoidFocalLoss(logits: Tensor, targets: Tensor, options: FocalLossOptions = {}): Tensor {
  const read = readOptions("sigmoidFocalLoss", options, FOCAL_LOSS, { example: "{ gamma: 2 }" });
  const { alpha, gamma } = read;
  expectAlike("sigmoidFocalLoss", { logits, targets });
  expectFloatLogits("sigmoidFocalLoss", logits);
  const [x, y] = [cast(logits, "f32"), cast(targets, "f32")];
  const none = sub(1, y);
  const [likely, unlikely] = [softplus(x), softplus(neg(x))];
  const entropy = add(mul(y, unlikely), mul(none, likely));
  // log(1 - p) is -softplus(x) for an event and -softplus(-x) for none.
  const fading = exp(mul(add(mul(y, likely), mul(none, unlikely)), -gamma));
  const weight = add(mul(y, alpha), mul(none, 1 - alpha));
  const each = mul(mul(weight, fading), entropy);
  return reduceLoss("sigmoidFocalLoss", each, read);
}
