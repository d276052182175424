import { foldIn, isTensor, type Key, scope, type Tensor } from "@mp/core";
import { add, gelu } from "@mp/core/ops";
import { checks, readOptions, shown, withDefault } from "@mp/graph/internal";
import { type DenseParameters, dense } from "./dense.js";
import { dropout } from "./dropout.js";
import { invalid } from "./errors.js";
import { glorotUniform, type Initializer } from "./initializers.js";
import type { Layer, LayerContext, Parameters } from "./layer.js";
import { type LayerNormParameters, layerNorm } from "./layer-norm.js";
import { type AttentionParameters, multiHeadAttention } from "./multi-head-attention.js";
import { checkSizes, epsilon as epsilonKind, initializer, integers } from "./option-kinds.js";

export type EncoderLayerParameters = {
  readonly attention: AttentionParameters;
  readonly attentionNorm: LayerNormParameters;
  readonly expand: DenseParameters;
  readonly contract: DenseParameters;
  readonly norm: LayerNormParameters;
};

/** An input sequence with an attention mask. */
export interface EncoderInput {
  /** [batch, time, size] */
  readonly x: Tensor;
  /** bool, true where a position may attend; the shape broadcasts to [batch, heads, time, time]. */
  readonly mask?: Tensor;
}

export interface EncoderLayerOptions {
  /** Whether positions attend only to themselves and earlier ones, as in a language model; default false. */
  readonly isCausal?: boolean;
  /** Whether the layer calls the operator `attention`, which has no dropout of weights; default false. */
  readonly fused?: boolean;
  /** Width of the feed-forward network; default 4 · size. */
  readonly hidden?: number;
  /** Dropout rate in training of attention weights and of both parts' outputs (see `norm`); default 0. */
  readonly dropout?: number;
  /**
   * `post` (default) normalizes after the residual sum of each part, attention and feed-forward, as in BERT. `pre`
   * normalizes each part's input; deep stacks then train without warm-up, but need a final `layerNorm`.
   */
  readonly norm?: "post" | "pre";
  /** GELU's formula: `tanh` (default; `gelu_new` in Hugging Face), or `none` for the exact formula, as in BERT. */
  readonly approximate?: "none" | "tanh";
  /** Epsilon of both normalizations, at least 0; default 1e-5. BERT's is 1e-12. */
  readonly epsilon?: number;
  /** Initializer of all kernels; default `glorotUniform`. */
  readonly kernel?: Initializer;
}

const ENCODER_LAYER = {
  isCausal: withDefault(false, checks.truth),
  fused: withDefault(false, checks.truth),
  hidden: (what: string, value: unknown) => void (value === undefined || integers(1)(what, value)),
  dropout: (_: string, rate: unknown) => void (rate === undefined || dropout(rate as number)),
  norm: withDefault("post" as const, checks.oneOf("post", "pre")),
  approximate: withDefault("tanh" as const, checks.oneOf("none", "tanh")),
  epsilon: withDefault(1e-5, epsilonKind),
  kernel: withDefault(glorotUniform, initializer),
};

/**
 * A transformer encoder layer (Vaswani et al., arXiv 1706.03762; BERT, arXiv 1810.04805): self-attention and
 * a feed-forward network with GELU, both residual and normalized. Keeps the shape [batch, time, size]. Takes
 * a tensor, or `{ x, mask }`. To keep only its input for the backward pass, wrap `apply` in `remat`.
 * @throws MP_INVALID_ARGUMENT for a size that is not divisible by the number of heads, or invalid options;
 *   MP_SHAPE_MISMATCH for other inputs
 */
export function encoderLayer(
  size: number,
  heads: number,
  options: EncoderLayerOptions = {},
): Layer<EncoderLayerParameters, Tensor | EncoderInput> {
  checkSizes("encoderLayer", { size, heads });
  const read = readOptions("encoderLayer", options, ENCODER_LAYER, { example: "{ dropout: 0.1 }" });
  const { hidden = 4 * size, isCausal, fused, kernel, approximate, epsilon } = read;
  const drop = read.dropout === undefined ? undefined : dropout(read.dropout);
  const attention = multiHeadAttention(size, heads, {
    isCausal,
    fused,
    kernel,
    ...(read.dropout === undefined || fused ? {} : { dropout: read.dropout }),
  });
  const expand = dense(size, hidden, { kernel });
  const contract = dense(hidden, size, { kernel });
  const normalization = layerNorm(size, { epsilon });

  const apply = (
    parameters: Parameters<EncoderLayerParameters>,
    input: Tensor | EncoderInput,
    context?: LayerContext,
  ): Tensor => {
    const { x, mask } = isTensor(input) ? { x: input } : input;
    if (!isTensor(x)) {
      throw invalid(`encoderLayer: takes a tensor or { x, mask }, got ${shown(x)}`);
    }
    const dropOut = (y: Tensor, name: string): Tensor =>
      drop === undefined ? y : scope(name, () => drop.apply({}, y, context));
    const attend = (y: Tensor): Tensor =>
      dropOut(
        attention.apply(parameters.attention, mask === undefined ? y : { x: y, mask }, context),
        "attended",
      );
    const feed = (y: Tensor): Tensor => {
      const widened = gelu(
        scope("expand", () => expand.apply(parameters.expand, y)),
        { approximate },
      );
      return dropOut(
        scope("contract", () => contract.apply(parameters.contract, widened)),
        "fed",
      );
    };
    const first = (y: Tensor): Tensor =>
      scope("attentionNorm", () => normalization.apply(parameters.attentionNorm, y));
    const second = (y: Tensor): Tensor => scope("norm", () => normalization.apply(parameters.norm, y));
    if (read.norm === "pre") {
      const middle = add(x, attend(first(x)));
      return add(middle, feed(second(middle)));
    }
    const middle = first(add(x, attend(x)));
    return second(add(middle, feed(middle)));
  };
  return {
    name: "encoderLayer",
    init: (key: Key) => ({
      attention: attention.init(foldIn(key, "attention")),
      attentionNorm: normalization.init(foldIn(key, "attentionNorm")),
      expand: expand.init(foldIn(key, "expand")),
      contract: contract.init(foldIn(key, "contract")),
      norm: normalization.init(foldIn(key, "norm")),
    }),
    apply: (parameters, input, context) => scope("encoderLayer", () => apply(parameters, input, context)),
  };
}
