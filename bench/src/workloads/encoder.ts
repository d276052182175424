import { adamW, tensor } from "@mp/core";
import { add, gather, reshape } from "@mp/core/ops";
import { dense, encoderLayer, layerNorm, softmaxCrossEntropy } from "@mp/nn";
import { tokenValues } from "./hash-values.js";
import { type InitialValues, initialValues } from "./initial-values.js";
import { defineWorkload, type Workload } from "./workload.js";

export const ENCODER_SIZES = {
  batch: 16,
  time: 128,
  vocabulary: 8192,
  size: 256,
  heads: 4,
  hidden: 1024,
  layers: 4,
};

/** The token that replaces a masked word; of `MASK_EVERY` words one is masked. */
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

function layerValues(draw: InitialValues, { size, hidden }: typeof ENCODER_SIZES) {
  return {
    attention: {
      query: denseValues(draw, size, size),
      key: denseValues(draw, size, size),
      value: denseValues(draw, size, size),
      output: denseValues(draw, size, size),
    },
    attentionNorm: normValues(draw, size),
    expand: denseValues(draw, size, hidden),
    contract: denseValues(draw, hidden, size),
    norm: normValues(draw, size),
  };
}

/**
 * W4: a small encoder with post-normalization, cross entropy of the masked words, AdamW. With `fused` its layers call
 * the operator `attention`.
 */
export function encoder(sizes = ENCODER_SIZES, fused = false): Workload {
  const { batch, time, vocabulary, size, heads, hidden, layers } = sizes;
  const layer = encoderLayer(size, heads, { hidden, fused });
  const norm = layerNorm(size);
  const project = dense(size, vocabulary);
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
    title: `encoder, ${layers} layers of ${size}, ${heads} heads, sequence ${time}, batch ${batch}, vocabulary ${vocabulary}`,
    params,
    batch: { inputs: tensor(inputs, [batch, time]), targets: tensor(targets, [batch * time]) },
    loss: (weights, data) => {
      const embedded = norm.apply(weights.norm, add(gather(weights.words, data.inputs), weights.places));
      const x = weights.layers.reduce((input, own) => layer.apply(own, input), embedded);
      const logits = project.apply(weights.output, reshape(x, [tokensPerStep, size]));
      return softmaxCrossEntropy(logits, data.targets, { ignoreIndex: IGNORED });
    },
    optimizer: adamW({ learningRate: 1e-4, weightDecay: 0.01 }),
    matrixFlops: 3 * (perLayer * layers + 2 * tokensPerStep * size * vocabulary),
  });
}
