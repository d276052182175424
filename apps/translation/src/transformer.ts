/**
 * An encoder-decoder Transformer (Vaswani et al., arXiv 1706.03762) with the normalization before each part (Xiong et
 * al., arXiv 2002.04745), which trains without a long warm-up.
 */
import { foldIn, type Key, type LossContext, remat, scope, type Tensor, type Traced, tensor } from "@mp/core";
import { add, constant, gelu, greater, mul, reshape } from "@mp/core/ops";
import {
  dense,
  dropout,
  embedding,
  layerNorm,
  multiHeadAttention,
  normal,
  softmaxCrossEntropy,
} from "@mp/nn";
import { PAD } from "./parallel-text.js";

export interface TransformerOptions {
  readonly words: { readonly source: number; readonly target: number };
  readonly layers: number;
  readonly size: number;
  readonly heads: number;
  readonly dropout: number;
  /** Recompute each layer's activations in the backward pass. */
  readonly checkpointing: boolean;
}

export type TracedPairs = { readonly source: Tensor; readonly seen: Tensor; readonly said: Tensor };
type Context = Pick<LossContext, "training" | "key">;

/** Widening of the layers between attentions. */
const WIDENING = 4;

export function transformer(options: TransformerOptions) {
  const { words, layers, size, heads } = options;
  const table = normal(size ** -0.5);
  const embed = {
    source: embedding(words.source, size, { table }),
    target: embedding(words.target, size, { table }),
  };
  const norm = layerNorm(size);
  const attention = multiHeadAttention(size, heads);
  const causal = multiHeadAttention(size, heads, { isCausal: true });
  const [widen, narrow] = [dense(size, WIDENING * size), dense(WIDENING * size, size)];
  const project = dense(size, words.target);
  const drop = dropout(options.dropout);

  const feedForward = (key: Key) => ({
    norm: norm.init(foldIn(key, "norm")),
    widen: widen.init(foldIn(key, "widen")),
    narrow: narrow.init(foldIn(key, "narrow")),
  });
  const attentive = (key: Key) => ({
    norm: norm.init(foldIn(key, "norm")),
    attention: attention.init(foldIn(key, "attention")),
  });
  const encoderLayer = (key: Key) => ({
    self: attentive(foldIn(key, "self")),
    feed: feedForward(foldIn(key, "feed")),
  });
  const decoderLayer = (key: Key) => ({
    self: attentive(foldIn(key, "self")),
    cross: attentive(foldIn(key, "cross")),
    feed: feedForward(foldIn(key, "feed")),
  });
  const stack = <L>(layer: (key: Key) => L, key: Key): readonly L[] =>
    Array.from({ length: layers }, (_, index) => layer(foldIn(key, index)));
  const init = (key: Key) => ({
    source: embed.source.init(foldIn(key, "source")),
    target: embed.target.init(foldIn(key, "target")),
    encoder: stack(encoderLayer, foldIn(key, "encoder")),
    encoded: norm.init(foldIn(key, "encoded")),
    decoder: stack(decoderLayer, foldIn(key, "decoder")),
    decoded: norm.init(foldIn(key, "decoded")),
    words: project.init(foldIn(key, "words")),
  });
  type Weights = Traced<ReturnType<typeof init>>;
  type Attentive = Traced<ReturnType<typeof attentive>>;
  type Feed = Traced<ReturnType<typeof feedForward>>;

  /** x + part(x), with dropout of the part's result in training. */
  const around = (name: string, x: Tensor, context: Context, part: (x: Tensor) => Tensor): Tensor =>
    scope(name, () => add(x, drop.apply({}, part(x), context)));
  const feed = (weights: Feed, x: Tensor, context: Context): Tensor =>
    around("feed", x, context, (value) =>
      narrow.apply(weights.narrow, gelu(widen.apply(weights.widen, norm.apply(weights.norm, value)))),
    );
  const attend = (weights: Attentive, x: Tensor, mask: Tensor, context: Context): Tensor =>
    around("self", x, context, (value) =>
      attention.apply(weights.attention, { x: norm.apply(weights.norm, value), mask }, context),
    );
  const recomputed = options.checkpointing ? remat : <F>(layer: F): F => layer;

  /** Embeddings with sines of the positions added. */
  const embedWords = (side: "source" | "target", weights: Weights, ids: Tensor, context: Context): Tensor =>
    scope(side, () => {
      const scaled = mul(embed[side].apply(weights[side], ids), Math.sqrt(size));
      return drop.apply({}, add(scaled, positions(ids.shape[1] ?? 0, size)), context);
    });

  const encode = (weights: Weights, source: Tensor, mask: Tensor, context: Context): Tensor => {
    let x = embedWords("source", weights, source, context);
    for (const [index, own] of weights.encoder.entries()) {
      const layer = (value: Tensor): Tensor =>
        feed(own.feed, attend(own.self, value, mask, context), context);
      x = scope(`encoder${index}`, () => recomputed(layer)(x));
    }
    return norm.apply(weights.encoded, x);
  };

  const logits = (
    weights: Weights,
    { source, seen }: Pick<TracedPairs, "source" | "seen">,
    context: Context,
  ): Tensor => {
    const [batch = 0, length = 0] = source.shape;
    const mask = reshape(greater(source, PAD), [batch, 1, 1, length]);
    const memory = encode(weights, source, mask, context);
    let x = embedWords("target", weights, seen, context);
    for (const [index, own] of weights.decoder.entries()) {
      const layer = (value: Tensor, from: Tensor): Tensor => {
        const past = around("self", value, context, (y) =>
          causal.apply(own.self.attention, norm.apply(own.self.norm, y), context),
        );
        const both = around("cross", past, context, (y) =>
          attention.apply(
            own.cross.attention,
            { x: norm.apply(own.cross.norm, y), memory: from, mask },
            context,
          ),
        );
        return feed(own.feed, both, context);
      };
      x = scope(`decoder${index}`, () => recomputed(layer)(x, memory));
    }
    return scope("words", () => project.apply(weights.words, norm.apply(weights.decoded, x)));
  };

  return {
    init,
    logits,
    /** Mean cross entropy per word of the translation, end marks included. */
    loss: (weights: Weights, pairs: TracedPairs, context: Context): Tensor =>
      softmaxCrossEntropy(logits(weights, pairs, context), pairs.said, { ignoreIndex: PAD }),
  };
}

/** Position encodings [length, size]: sine and cosine of the position at wavelengths from 2π to 2π · 10 000. */
function positions(length: number, size: number): Tensor {
  const values = Float32Array.from({ length: length * size }, (_, index) => {
    const [place, column] = [Math.floor(index / size), index % size];
    const angle = place / 10_000 ** ((2 * Math.floor(column / 2)) / size);
    return column % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
  });
  return constant(tensor(values, [length, size]));
}
