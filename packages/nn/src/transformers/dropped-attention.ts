import { scope, type Tensor } from "@mp/core";
import { attention, lessOrEqual, matMul, mul, range, reshape, softmax, transpose, where } from "@mp/core/ops";
import { dropout } from "../dropout.js";
import type { DecoderInput } from "./decoder.js";

/** A block's heads, each [batch, heads, time, size]. */
interface Heads {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
}

/** Attention to earlier tokens whose weights are dropped in training. The operator of it has no dropout. */
export function droppedAttention({ query, key, value }: Heads, rate: number, input: DecoderInput): Tensor {
  const { mask, context } = input;
  if (rate === 0 || context?.training !== true)
    return attention(query, key, value, { isCausal: true, ...(mask === undefined ? {} : { mask }) });
  const [, , time = 0, size = 1] = query.shape;
  const isEarlier = lessOrEqual(reshape(range(0, time), [1, time]), reshape(range(0, time), [time, 1]));
  const scores = matMul(mul(query, 1 / Math.sqrt(size)), transpose(key, [0, 1, 3, 2]));
  const causal = where(isEarlier, scores, Number.NEGATIVE_INFINITY);
  const shares = softmax(mask === undefined ? causal : where(mask, causal, Number.NEGATIVE_INFINITY));
  return matMul(
    scope("shares", () => dropout(rate).apply({}, shares, context)),
    value,
  );
}
