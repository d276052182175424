// The scores of ONNX's Attention, an optional output; computed beside the attention itself.
import type { Tensor } from "@mp/graph";
import {
  add,
  cast,
  constant,
  div,
  equal,
  expand,
  matMul,
  mul,
  reduceMax,
  reshape,
  softmax,
  tanh,
  transpose,
  where,
} from "@mp/graph/ops";
import { literals } from "../../literals.js";

/** The stage of the computation whose scores are returned. */
export type ScoreStage = "product" | "capped" | "masked" | "softmax";

const lowest = (): Tensor => constant(literals([Number.NEGATIVE_INFINITY], "f32", []));

/** Repeats each head of the keys for the query heads that share it. */
function repeatHeads(x: Tensor, heads: number): Tensor {
  const [batch = 1, own = 1, ...others] = x.shape;
  if (own === heads) return x;
  const wide = expand(reshape(x, [batch, own, 1, ...others]), [batch, own, heads / own, ...others]);
  return reshape(wide, [batch, heads, ...others]);
}

/**
 * The scores [batch, heads, time, keys] in the query's dtype, computed in f32; softmax is 0 if all are
 * hidden.
 */
export function attentionScores(
  query: Tensor,
  key: Tensor,
  mask: Tensor | undefined,
  { scale, softcap, stage }: { readonly scale: number; readonly softcap: number; readonly stage: ScoreStage },
): Tensor {
  const keys = repeatHeads(cast(key, "f32"), query.shape[1] ?? 1);
  const product = mul(matMul(cast(query, "f32"), transpose(keys, [0, 1, 3, 2])), scale);
  if (stage === "product") return cast(product, query.dtype);
  const capped = softcap > 0 ? mul(tanh(div(product, softcap)), softcap) : product;
  if (stage === "capped") return cast(capped, query.dtype);
  const bias =
    mask === undefined ? undefined : mask.dtype === "bool" ? where(mask, 0, lowest()) : cast(mask, "f32");
  const masked = bias === undefined ? capped : add(capped, bias);
  if (stage === "masked") return cast(masked, query.dtype);
  if (bias === undefined) return cast(softmax(masked), query.dtype);
  const isNothing = equal(reduceMax(bias, { axes: [-1], keepdims: true }), lowest());
  return cast(where(isNothing, 0, softmax(where(isNothing, 0, masked))), query.dtype);
}
