import { checkOptions, type OptionNames } from "../../options.js";
import { asTensor, emit } from "../emit.js";
import type { Tensor } from "../tensor.js";

export interface AttentionOptions {
  /**
   * Mask of 2 to 4 axes, which broadcasts to [batch, heads, time, keys]; only the last axis must have its full size.
   * A bool mask is true where a query attends; a mask in f32 or the queries' dtype is added to the scores. Default:
   * queries attend to all keys.
   */
  readonly mask?: Tensor;
  /** Whether query i attends only to keys 0 … i, as far as the mask allows them; default false. */
  readonly isCausal?: boolean;
  /** Factor of the scores; default 1 / √size. */
  readonly scale?: number;
  /** Limits the scores s, before the mask, to softcap · tanh(s / softcap); default 0, no limit. */
  readonly softcap?: number;
}

const OPTIONS: OptionNames<AttentionOptions> = { mask: true, isCausal: true, scale: true, softcap: true };

/**
 * softmax(scale · Q · Kᵀ + mask) · V, PyTorch's `scaled_dot_product_attention`: query [batch, heads, time, size], key
 * [batch, keyHeads, keys, size] and value [batch, keyHeads, keys, valueSize] give [batch, heads, time, valueSize] in
 * their float dtype. With fewer `keyHeads` than `heads`, adjacent heads share a key head (grouped queries). Scores,
 * softmax and sums are in f32 and rounded once. The backward pass computes the probabilities again, so none are kept.
 * A query that attends to nothing gives 0, and its gradients are 0.
 * @throws MP_SHAPE_MISMATCH for operands of other shapes, MP_DTYPE_MISMATCH for operands of two dtypes
 * @throws MP_INVALID_ARGUMENT for unknown options and for a scale that is not above 0 or a softcap below 0
 */
export function attention(query: Tensor, key: Tensor, value: Tensor, options: AttentionOptions = {}): Tensor {
  checkOptions("Attention", options, OPTIONS, "{ isCausal: true }");
  const size = asTensor(query, "Attention").shape.at(-1) ?? 1;
  const { mask, isCausal = false, scale = size === 0 ? 1 : 1 / Math.sqrt(size), softcap = 0 } = options;
  return emit("Attention", mask === undefined ? [query, key, value] : [query, key, value, mask], {
    scale,
    isCausal,
    softcap,
  });
}
