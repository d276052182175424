import { hideFromOrigins } from "@mp/graph/internal";

hideFromOrigins(import.meta.url);

// Models: layers in sequence, and what a layer is

export { formatSummary } from "./format-summary.js";
export type { Layer, LayerContext, Nothing, Parameters, ParameterTree } from "./layer.js";
export { asModel, type Model } from "./model.js";
export { outputAxis } from "./output-axis.js";
export { type Residual, type ResidualParameters, type ResidualState, residual } from "./residual.js";
export * from "./sequential.js";
export type { StatefulContext, StatefulLayer } from "./stateful-layer.js";
export { type LayerSummary, type ModelSummary, summary } from "./summary.js";

// Layers

export * from "./convolution.js";
export { type DenseOptions, type DenseParameters, dense } from "./dense.js";
export { dropout } from "./dropout.js";
export { type EmbeddingParameters, embedding } from "./embedding.js";
export { flatten } from "./flatten.js";
export * from "./pooling.js";

// Activations

export {
  elu,
  gelu,
  globalAveragePool,
  globalMaxPool,
  leakyRelu,
  relu,
  sigmoid,
  silu,
  softplus,
  tanh,
} from "@mp/core/ops";

// Normalization

export * from "./batch-norm.js";
export { type GroupNormParameters, groupNorm } from "./group-norm.js";
export { type LayerNormParameters, layerNorm } from "./layer-norm.js";
export { type RmsNormParameters, rmsNorm } from "./rms-norm.js";

// Attention

export * from "./encoder-layer.js";
export {
  type AttentionInput,
  type AttentionOptions,
  type AttentionParameters,
  multiHeadAttention,
} from "./multi-head-attention.js";

// Recurrence

export * from "./bidirectional.js";
export { type GruOptions, type GruParameters, type GruResult, type GruSequence, gru } from "./gru.js";
export * from "./lstm.js";

// Losses and metrics

export { accuracy, topKAccuracy } from "./accuracy.js";
export { type CrossEntropyOptions, softmaxCrossEntropy } from "./cross-entropy.js";
export { type CtcLossOptions, type CtcTargets, ctcLoss } from "./ctc-loss.js";
export { type FocalLossOptions, sigmoidFocalLoss } from "./focal-loss.js";
export { lossWeight } from "./loss-weight.js";
export * from "./losses.js";

// Initializers

export * from "./initializers.js";
