import { scope, type Tensor } from "@mp/core";
import { lessOrEqual, matMul, mul, range, reshape, softmax, transpose, where } from "@mp/core/ops";
import { dropout } from "../dropout.js";
import type { Attend, DecoderInput } from "./decoder.js";

/** Attention to earlier tokens whose weights are dropped in training. The operator of it has no dropout. */
export const droppedAttention =
  (rate: number, input: DecoderInput): Attend =>
  (layer, heads) => {
    const { attend, mask, context } = input;
    if (rate === 0 || context?.training !== true) return attend(layer, heads);
    const { query, key, value } = heads;
    const [, , time = 0, size = 1] = query.shape;
    const isEarlier = lessOrEqual(reshape(range(0, time), [1, time]), reshape(range(0, time), [time, 1]));
    const scores = matMul(mul(query, 1 / Math.sqrt(size)), transpose(key, [0, 1, 3, 2]));
    const causal = where(isEarlier, scores, Number.NEGATIVE_INFINITY);
    const shares = softmax(mask === undefined ? causal : where(mask, causal, Number.NEGATIVE_INFINITY));
    return matMul(
      scope("shares", () => dropout(rate).apply({}, shares, context)),
      value,
    );
  };
