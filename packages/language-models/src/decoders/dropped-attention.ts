import { scope, type Tensor } from "@mp/core";
import { matMul, mul, softmax, transpose, where } from "@mp/core/ops";
import { dropout } from "@mp/nn";
import { isPast } from "@mp/nn/internal";
import type { DecoderInput, Heads } from "./decoder.js";

/** Computes causal attention. In training, drops attention weights, which the `attention` operator cannot. */
export function attendWithDropout(layer: number, heads: Heads, rate: number, input: DecoderInput): Tensor {
  const { attend, mask, context } = input;
  if (rate === 0 || context?.training !== true) return attend(layer, heads);
  const { query, key, value } = heads;
  const [, , time = 0, size = 1] = query.shape;
  const scores = matMul(mul(query, 1 / Math.sqrt(size)), transpose(key, [0, 1, 3, 2]));
  const causal = where(isPast(time, time), scores, Number.NEGATIVE_INFINITY);
  const weights = softmax(mask === undefined ? causal : where(mask, causal, Number.NEGATIVE_INFINITY));
  return matMul(
    scope("weights", () => dropout(rate).apply({}, weights, context)),
    value,
  );
}
