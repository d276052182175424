import type { OpAttributes } from "../../graph/attributes.js";
import { add, lessOrEqual, mul, where } from "../../trace/ops/binary.js";
import { matMul } from "../../trace/ops/matrix.js";
import { reshape } from "../../trace/ops/movement.js";
import { softmax } from "../../trace/ops/normalization.js";
import { reduceMax } from "../../trace/ops/reduce.js";
import { literal, range } from "../../trace/ops/source.js";
import { not, tanh } from "../../trace/ops/unary.js";
import type { Tensor } from "../../trace/tensor.js";
import { swapLast, toShape, wide } from "./rule.js";

/** The probabilities of an Attention and the terms that they are computed from, in f32. */
export interface AttentionShares {
  /**
   * The probabilities, [batch, keyHeads, rows, keys]: the queries of all heads that share a key head are rows of one
   * matrix, so that no key is repeated. Rows that attend to nothing hold arbitrary values.
   */
  readonly shares: Tensor;
  /** The scaled queries, [batch, keyHeads, rows, size]. */
  readonly query: Tensor;
  /** tanh(scores / softcap), if there is a softcap. */
  readonly bent: Tensor | undefined;
  /** bool, broadcasts to [batch, heads, time, 1]: whether a query attends to anything. Undefined if all do. */
  readonly attends: Tensor | undefined;
}

const NEVER = Number.NEGATIVE_INFINITY;

/**
 * Makes the bias to add to the scores. Rows that attend to nothing get a bias of 0 instead of -∞, which keeps NaN out
 * of their softmax. The mask alone shows these rows; it mostly broadcasts, and so is smaller than the scores.
 */
function maskBias(
  mask: Tensor | undefined,
  isCausal: boolean,
  [time, keys]: readonly [number, number],
): { readonly bias: Tensor | undefined; readonly attends: Tensor | undefined } {
  const given = mask?.dtype === "bool" ? where(mask, literal(0), NEVER) : mask && wide(mask);
  const isPast = (): Tensor => lessOrEqual(range(0, keys), reshape(range(0, time), [time, 1]));
  const bias = isCausal ? where(isPast(), given ?? literal(0), NEVER) : given;
  if (mask === undefined || bias === undefined) return { bias, attends: undefined };
  const most = reduceMax(bias, { axes: [-1], keepdims: true });
  // `greater` would be false for NaN, so a NaN in the mask would be hidden, and the step applied.
  const attends = not(lessOrEqual(most, NEVER));
  return { bias: where(attends, bias, 0), attends };
}

/** Computes the scores of an Attention with matrix products, and their softmax. */
export function attentionShares(
  given: Tensor,
  key: Tensor,
  mask: Tensor | undefined,
  { scale, isCausal, softcap }: OpAttributes["Attention"],
): AttentionShares {
  const [batch = 0, heads = 0, time = 0, size = 0] = given.shape;
  const [, keyHeads = 0, keys = 0] = key.shape;
  const rows = [batch, keyHeads, (heads / keyHeads) * time];
  const query = toShape(mul(wide(given), scale), [...rows, size]);
  const scores = matMul(query, swapLast(wide(key)));
  const bent = softcap > 0 ? tanh(mul(scores, 1 / softcap)) : undefined;
  const capped = bent === undefined ? scores : mul(bent, softcap);
  const { bias, attends } = maskBias(mask, isCausal, [time, keys]);
  const biased =
    bias === undefined
      ? capped
      : toShape(add(toShape(capped, [batch, heads, time, keys]), bias), scores.shape);
  return { shares: softmax(biased), query, bent, attends };
}
