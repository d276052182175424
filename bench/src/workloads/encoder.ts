import { adamW, type Tensor, type Traced, tensor } from "@mp/core";
import {
  add,
  gather,
  gelu,
  layerNormalization,
  matMul,
  mul,
  reshape,
  softmax,
  transpose,
} from "@mp/core/ops";
import { softmaxCrossEntropy } from "@mp/nn";
import { tokenValues } from "./hash-values.js";
import { type InitialValues, initialValues } from "./initial-values.js";
import { defineWorkload, type Workload } from "./workload.js";

export interface EncoderSizes {
  readonly batch: number;
  readonly time: number;
  readonly vocabulary: number;
  readonly size: number;
  readonly heads: number;
  readonly hidden: number;
  readonly layers: number;
}

export const ENCODER_SIZES: EncoderSizes = {
  batch: 16,
  time: 128,
  vocabulary: 8192,
  size: 256,
  heads: 4,
  hidden: 1024,
  layers: 4,
};

/** The mask token, and which words are masked: every seventh. */
const MASK_WORD = 1;
const MASK_EVERY = 7;
const IGNORED = -100;
const LIMIT = 0.02 * Math.sqrt(3);

const denseValues = (draw: InitialValues, inputs: number, outputs: number) => ({
  kernel: draw.uniform([inputs, outputs], LIMIT),
  bias: draw.zeros([outputs]),
});
const normValues = (draw: InitialValues, size: number) => ({
  scale: draw.ones([size]),
  bias: draw.zeros([size]),
});

type LayerValues = ReturnType<typeof layerValues>;

function layerValues(draw: InitialValues, { size, hidden }: EncoderSizes) {
  return {
    query: denseValues(draw, size, size),
    key: denseValues(draw, size, size),
    value: denseValues(draw, size, size),
    output: denseValues(draw, size, size),
    attentionNorm: normValues(draw, size),
    expand: denseValues(draw, size, hidden),
    contract: denseValues(draw, hidden, size),
    norm: normValues(draw, size),
  };
}

type Dense = Traced<ReturnType<typeof denseValues>>;
type Norm = Traced<ReturnType<typeof normValues>>;
const apply = ({ kernel, bias }: Dense, x: Tensor): Tensor => add(matMul(x, kernel), bias);
const normalize = ({ scale, bias }: Norm, x: Tensor): Tensor =>
  layerNormalization(x, scale, bias, { epsilon: 1e-5 });

function attention(
  weights: Traced<LayerValues>,
  x: Tensor,
  { batch, time, size, heads }: EncoderSizes,
): Tensor {
  const perHead = size / heads;
  const perHeadOf = (part: Dense): Tensor =>
    transpose(reshape(apply(part, x), [batch, time, heads, perHead]), [0, 2, 1, 3]);
  const scores = matMul(perHeadOf(weights.query), transpose(perHeadOf(weights.key), [0, 1, 3, 2]));
  const mixed = matMul(softmax(mul(scores, 1 / Math.sqrt(perHead)), -1), perHeadOf(weights.value));
  return reshape(transpose(mixed, [0, 2, 1, 3]), [batch * time, size]);
}

/** W4: a small encoder with post-normalization, cross entropy of the masked words, AdamW. */
export function encoder(sizes: EncoderSizes = ENCODER_SIZES): Workload {
  const { batch, time, vocabulary, size, hidden, layers } = sizes;
  const draw = initialValues();
  const params = {
    words: draw.uniform([vocabulary, size], LIMIT),
    places: draw.uniform([time, size], LIMIT),
    norm: normValues(draw, size),
    layers: Array.from({ length: layers }, () => layerValues(draw, sizes)),
    output: denseValues(draw, size, vocabulary),
  };
  const tokens = tokenValues(1, batch * time, vocabulary);
  const isHidden = (index: number): boolean => index % MASK_EVERY === 0;
  const inputs = tokens.map((word, index) => (isHidden(index) ? MASK_WORD : word));
  const targets = tokens.map((word, index) => (isHidden(index) ? word : IGNORED));
  const tokensPerStep = batch * time;
  const perLayer =
    2 * tokensPerStep * (4 * size * size + 2 * size * hidden) + 4 * tokensPerStep * time * size;
  return defineWorkload({
    title: `encoder, ${layers} layers of ${size}, ${sizes.heads} heads, sequence ${time}, batch ${batch}, vocabulary ${vocabulary}`,
    params,
    batch: { inputs: tensor(inputs, [batch, time]), targets: tensor(targets, [batch * time]) },
    loss: (weights, data) => {
      const embedded = add(gather(weights.words, data.inputs), weights.places);
      const x = weights.layers.reduce(
        (input, own) => {
          const attended = add(input, apply(own.output, attention(own, input, sizes)));
          const middle = normalize(own.attentionNorm, attended);
          const widened = gelu(apply(own.expand, middle), { approximate: "tanh" });
          return normalize(own.norm, add(middle, apply(own.contract, widened)));
        },
        normalize(weights.norm, reshape(embedded, [tokensPerStep, size])),
      );
      return softmaxCrossEntropy(apply(weights.output, x), data.targets, { ignoreIndex: IGNORED });
    },
    optimizer: adamW({ learningRate: 1e-4, weightDecay: 0.01 }),
    matrixFlops: 3 * (perLayer * layers + 2 * tokensPerStep * size * vocabulary),
  });
}
