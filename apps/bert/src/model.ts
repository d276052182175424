/** BERT's encoder (Devlin et al., arXiv 1810.04805), without the embedding of segments: sequences here are one text. */
import { foldIn, type HostTensor, type Key, remat, scope, type Tensor, type Traced } from "@mp/core";
import { add, gather, gelu, matMul, reshape, slice, squeeze, tanh, transpose } from "@mp/core/ops";
import {
  constantValue,
  dense,
  dropout,
  embedding,
  encoderLayer,
  type LayerContext,
  layerNorm,
  truncatedNormal,
} from "@mp/nn";

export interface EncoderOptions {
  readonly vocabulary: number;
  /** Longest length of a sequence. */
  readonly sequence: number;
  readonly layers: number;
  readonly size: number;
  readonly heads: number;
  readonly hidden: number;
  readonly dropout: number;
  /** Recompute each layer's activations in the backward pass. */
  readonly checkpointing: boolean;
}

const kernel = truncatedNormal(0.02);

/** An encoder with its parameters, from i32 [batch, sequence] to [batch, sequence, size]. */
export function encoder(options: EncoderOptions) {
  const { vocabulary, sequence, layers, size, heads, hidden } = options;
  const words = embedding(vocabulary, size, { table: kernel });
  const norm = layerNorm(size);
  const drop = dropout(options.dropout);
  const layer = encoderLayer(size, heads, { hidden, dropout: options.dropout, kernel });

  const init = (key: Key) => ({
    words: words.init(foldIn(key, "words")),
    places: kernel(foldIn(key, "places"), [sequence, size], sequence, size) as HostTensor<"f32">,
    norm: norm.init(foldIn(key, "norm")),
    layers: Array.from({ length: layers }, (_, index) => layer.init(foldIn(foldIn(key, "layers"), index))),
  });
  type EncoderParameters = Traced<ReturnType<typeof init>>;

  const apply = (parameters: EncoderParameters, ids: Tensor, context: LayerContext): Tensor => {
    const embedded = scope("embedding", () => {
      const sum = add(words.apply(parameters.words, ids), parameters.places);
      return drop.apply({}, norm.apply(parameters.norm, sum), context);
    });
    return parameters.layers.reduce((x, own, index) => {
      const run = (input: Tensor): Tensor => layer.apply(own, input, context);
      return scope(`layer${index}`, () => (options.checkpointing ? remat(run, { masks: "keep" }) : run)(x));
    }, embedded);
  };
  return { init, apply };
}

export type Encoder = ReturnType<typeof encoder>;
export type EncoderParameters = ReturnType<Encoder["init"]>;

/** Scores all pieces at given places of the batch, in row-major order. The embedding table is also the last kernel. */
export function pieceHead({ vocabulary, size }: EncoderOptions) {
  const transform = dense(size, size, { kernel });
  const norm = layerNorm(size);
  const init = (key: Key) => ({
    transform: transform.init(foldIn(key, "transform")),
    norm: norm.init(foldIn(key, "norm")),
    bias: constantValue(0)(foldIn(key, "bias"), [vocabulary], vocabulary, vocabulary) as HostTensor<"f32">,
  });
  type HeadParameters = Traced<ReturnType<typeof init>>;
  /** [batch, sequence, size] and i32 [places] to [places, vocabulary]. */
  const apply = (parameters: HeadParameters, table: Tensor, x: Tensor, places: Tensor): Tensor =>
    scope("pieces", () => {
      const [batch = 0, time = 0] = x.shape;
      const read = gather(reshape(x, [batch * time, size]), places);
      const features = norm.apply(
        parameters.norm,
        gelu(transform.apply(parameters.transform, read), { approximate: "tanh" }),
      );
      return add(matMul(features, transpose(table)), parameters.bias);
    });
  return { init, apply };
}

/** Scores classes from the encoder's output at `[CLS]`. */
export function classHead({ size, dropout: rate }: EncoderOptions, classes: number) {
  const pool = dense(size, size, { kernel });
  const project = dense(size, classes, { kernel });
  const drop = dropout(rate);
  const init = (key: Key) => ({
    pool: pool.init(foldIn(key, "pool")),
    project: project.init(foldIn(key, "project")),
  });
  type HeadParameters = Traced<ReturnType<typeof init>>;
  /** [batch, sequence, size] to [batch, classes]. */
  const apply = (parameters: HeadParameters, x: Tensor, context: LayerContext): Tensor =>
    scope("classes", () => {
      const first = squeeze(slice(x, [{ axis: 1, start: 0, end: 1 }]), [1]);
      const pooled = tanh(scope("pool", () => pool.apply(parameters.pool, first)));
      return scope("project", () => project.apply(parameters.project, drop.apply({}, pooled, context)));
    });
  return { init, apply };
}
